// SPDX-License-Identifier: Apache-2.0
//
// Reads fields of a message that may be damaged. Protozero's reader only asserts that a field has
// the requested type; here a field of another type is an exception, like any other error in the
// file.
#pragma once

#include <cstdint>
#include <protozero/pbf_reader.hpp>

namespace orrery::trace {

class CheckedReader : private protozero::pbf_reader {
 public:
  using protozero::pbf_reader::next;
  using protozero::pbf_reader::pbf_reader;
  using protozero::pbf_reader::skip;
  using protozero::pbf_reader::tag;

  // Each throws a protozero::exception if the field has another type, or goes beyond the message.
  bool get_bool() { return of(Kind::varint).protozero::pbf_reader::get_bool(); }
  std::int32_t get_enum() { return of(Kind::varint).protozero::pbf_reader::get_enum(); }
  std::uint32_t get_uint32() { return of(Kind::varint).protozero::pbf_reader::get_uint32(); }
  std::uint64_t get_uint64() { return of(Kind::varint).protozero::pbf_reader::get_uint64(); }
  std::int64_t get_int64() { return of(Kind::varint).protozero::pbf_reader::get_int64(); }
  double get_double() { return of(Kind::fixed64).protozero::pbf_reader::get_double(); }
  protozero::data_view get_view() {
    return of(Kind::length_delimited).protozero::pbf_reader::get_view();
  }

 private:
  using Kind = protozero::pbf_wire_type;
  CheckedReader& of(Kind kind) {
    if (!has_wire_type(kind)) throw protozero::unknown_pbf_wire_type_exception();
    return *this;
  }
};

}  // namespace orrery::trace
