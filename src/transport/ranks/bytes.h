// SPDX-License-Identifier: Apache-2.0
//
// Writes plain values, texts and lists into a parcel, and reads them in the same order. Both ranks
// run the same build, so there are no type tags. A reader that would run over the end throws
// std::logic_error, since then the two builds differ.
#pragma once

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "transport/ranks/parcel.h"

namespace orrery::transport {

class ByteWriter {
 public:
  template <class T>
  requires std::is_trivially_copyable_v<T> ByteWriter& put(const T& value) {
    parcel_.append(&value, sizeof value);
    return *this;
  }
  ByteWriter& put(std::string_view text) {
    put<std::uint64_t>(text.size());
    parcel_.append(text.data(), text.size());
    return *this;
  }
  ByteWriter& put(const std::string& text) { return put(std::string_view(text)); }
  template <class T>
  requires std::is_trivially_copyable_v<T> ByteWriter& put(const std::vector<T>& values) {
    put<std::uint64_t>(values.size());
    parcel_.append(values.data(), values.size() * sizeof(T));
    return *this;
  }
  Parcel take() { return std::move(parcel_); }

 private:
  Parcel parcel_;
};

class ByteReader {
 public:
  explicit ByteReader(const Parcel& parcel) : at_(parcel.data()), left_(parcel.size()) {}

  template <class T>
  requires std::is_trivially_copyable_v<T> T get() {
    T value;
    std::memcpy(&value, skip(sizeof value), sizeof value);
    return value;
  }
  std::string get_text() {
    const auto bytes = get<std::uint64_t>();
    const auto* const begin = reinterpret_cast<const char*>(skip(bytes));
    return {begin, begin + bytes};
  }
  template <class T>
  std::vector<T> get_list() {
    const auto count = get<std::uint64_t>();
    if (count > left_ / sizeof(T)) refuse();
    std::vector<T> values(count);
    if (count > 0) std::memcpy(values.data(), skip(count * sizeof(T)), count * sizeof(T));
    return values;
  }
  bool at_end() const { return left_ == 0; }

 private:
  const std::byte* skip(std::uint64_t bytes) {
    if (bytes > left_) refuse();
    const std::byte* const place = at_;
    at_ += bytes;
    left_ -= bytes;
    return place;
  }
  [[noreturn]] static void refuse() {
    throw std::logic_error("a message of another rank is shorter than it says");
  }

  const std::byte* at_;
  std::size_t left_;
};

}  // namespace orrery::transport
