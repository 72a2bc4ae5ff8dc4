// SPDX-License-Identifier: Apache-2.0
//
// Packets of one sequence, appended to a text. Names are interned: the packet with the first use of
// a name defines it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "trace/format.h"

namespace orrery::trace {

/// Callers flush packets in pieces of about this size.
inline constexpr std::size_t kPieceBytes = std::size_t{1} << 18;

class Packets {
 public:
  explicit Packets(std::uint32_t sequence) : sequence_(sequence) {}

  /// A group of tracks. The first group of a sequence must be its first packet.
  void add_group(std::string& out, std::uint64_t uuid, std::int32_t pid, std::string_view name,
                 std::string_view description);
  /// `rank`: its position among the tracks of the group.
  void add_track(std::string& out, std::uint64_t uuid, std::uint64_t group, std::string_view name,
                 std::uint64_t rank);
  void add_counter(std::string& out, std::uint64_t uuid, std::uint64_t group, std::string_view name,
                   std::string_view unit);

  /// An event of a track. Notes and flows can be added during its lifetime; the destructor
  /// completes it.
  class Event {
   public:
    /// `name`: empty for an end and a counter.
    Event(Packets& packets, std::string& out, EventKind kind, std::uint64_t timestamp,
          std::uint64_t track, std::string_view name = {});

    Event& note(Note name, std::uint64_t value);
    Event& note(Note name, std::int64_t value);
    Event& note(Note name, double value);
    Event& note(Note name, bool value);
    Event& note(Note name, std::string_view value);
    /// Shown as an address, in hexadecimal digits.
    Event& note_bits(Note name, std::uint64_t value);
    Event& flows(const std::vector<std::uint64_t>& ids);
    Event& ends_flow(std::uint64_t id);
    Event& counts(std::int64_t value);
    Event& counts(double value);

   private:
    protozero::pbf_writer top_, packet_, event_;
  };

 private:
  class Track;
  /// The number of a name; `is_new`: the packet has to define it.
  std::uint64_t intern(std::string_view name, bool& is_new);
  void begin(protozero::pbf_writer& packet);

  const std::uint32_t sequence_;
  bool begun_ = false;
  std::unordered_map<std::string, std::uint64_t> names_;
};

}  // namespace orrery::trace
