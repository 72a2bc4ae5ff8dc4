// SPDX-License-Identifier: Apache-2.0
//
// Reads what TraceFile writes. The file is mapped, not loaded: readers go through it once or twice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/key.h"
#include "orrery/error.h"
#include "trace/checked_reader.h"
#include "trace/format.h"

namespace orrery::trace {

/// Whether a file begins as traces do.
bool is_trace(const std::string& path);

/// One committed event, as the file has it.
struct ReadEvent {
  Key key;
  LpId lp = 0;
  std::string_view type;  ///< lives as long as the reader
  std::uint64_t payload_bytes = 0, fingerprint = 0, first_send = 0, sends = 0;
  std::int64_t duration_ticks = 0;

  bool is_start() const { return key.sequence() == 0; }
  bool operator==(const ReadEvent&) const = default;
  /// Whether it has sent that one.
  bool is_cause_of(const ReadEvent& effect) const {
    return !effect.is_start() && effect.key.sender() == lp && effect.key.sequence() >= first_send &&
           effect.key.sequence() - first_send < sends;
  }
};

/// How far committed events go.
struct Tail {
  std::uint64_t events = 0;
  bool whole = true;
  Time until;  ///< of one that is not whole: everything before is there
};

/// What a file has of the run's course.
struct Life {
  std::vector<std::pair<std::string, std::uint64_t>> slices;  ///< how many there are, by name
  std::uint64_t left_out = 0;
};

/// Goes through the committed events of a file, in their order. Every function throws UsageError
/// with a sentence for a file that is damaged or no trace.
class TraceReader {
 public:
  explicit TraceReader(std::string path);
  ~TraceReader();
  TraceReader(const TraceReader&) = delete;
  TraceReader& operator=(const TraceReader&) = delete;

  const std::string& path() const { return path_; }
  const Facts& facts() const { return facts_; }
  /// Nothing when there are no more; then `tail` is known.
  std::optional<ReadEvent> next();
  const Tail& tail() const { return tail_; }
  /// From the first event again.
  void rewind();
  /// Of all packets, apart from `next`.
  Life life() const;
  std::uint64_t bytes() const { return size_; }

 private:
  [[noreturn]] void refuse(const std::string& why) const;
  template <class Action>
  auto guarded(Action&& action) const;
  void read_head();
  /// Of the committed sequence: an event, or nothing for a packet of another kind.
  std::optional<ReadEvent> read_packet(protozero::data_view packet);
  void read_head_note(Note note, std::uint64_t number, double real, std::string_view text);
  void read_tail_note(Note note, std::uint64_t number);
  void intern(protozero::data_view interned);

  const std::string path_;
  const char* bytes_ = nullptr;
  std::size_t size_ = 0;
  CheckedReader at_, first_;
  std::unordered_map<std::uint64_t, std::string_view> names_;
  std::unordered_map<std::uint64_t, Note> notes_;
  Facts facts_;
  Tail tail_;
  bool has_head_ = false, has_tail_ = false, is_over_ = false;
};

}  // namespace orrery::trace
