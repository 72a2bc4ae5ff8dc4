// SPDX-License-Identifier: Apache-2.0
//
// Reads the files of TraceFile. The file is mapped, not loaded, since readers pass through it once
// or twice.
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
#include "run/options/lp_patterns.h"
#include "trace/checked_reader.h"
#include "trace/format.h"

namespace orrery::trace {

/// Whether a file begins as a trace.
bool is_trace(const std::string& path);

/// One committed event, as stored in the file.
struct ReadEvent {
  Key key;
  LpId lp = 0;
  std::string_view type;  ///< valid during the reader's lifetime
  std::uint64_t payload_bytes = 0, fingerprint = 0, first_send = 0, sends = 0;
  std::int64_t duration_ticks = 0;

  bool is_start() const { return key.sequence() == 0; }
  bool operator==(const ReadEvent&) const = default;
  /// Whether this event has sent `effect`.
  bool is_cause_of(const ReadEvent& effect) const {
    return !effect.is_start() && effect.key.sender() == lp && effect.key.sequence() >= first_send &&
           effect.key.sequence() - first_send < sends;
  }
};

/// The end of the committed events.
struct Tail {
  std::uint64_t events = 0;
  bool whole = true;
  Time until;  ///< if not whole: all events before are in the trace
};

/// The records of the workers in a file.
struct Life {
  std::vector<std::pair<std::string, std::uint64_t>> slices;  ///< counts of slices, by name
  std::uint64_t left_out = 0;
};

/// Reads the committed events of a file in order. Every function throws UsageError with a sentence
/// for a file that is damaged or no trace.
class TraceReader {
 public:
  explicit TraceReader(std::string path);
  ~TraceReader();
  TraceReader(const TraceReader&) = delete;
  TraceReader& operator=(const TraceReader&) = delete;

  const std::string& path() const { return path_; }
  const Facts& facts() const { return facts_; }
  /// The next event; nothing after the last one, when `tail` is known.
  std::optional<ReadEvent> next();
  const Tail& tail() const { return tail_; }
  /// Starts again from the first event.
  void rewind();
  /// Reads all packets, independently of `next`.
  Life life() const;
  std::uint64_t bytes() const { return size_; }
  /// The LPs of the run, with the names of those that have events here. The first call reads all
  /// packets. The result refers to this reader.
  NamedLps lps() const;
  /// "LP 5 (router3)"
  std::string lp_text(LpId lp) const;

 private:
  [[noreturn]] void refuse(const std::string& why) const;
  template <class Action>
  auto guarded(Action&& action) const;
  void read_head();
  /// Reads a packet of the committed sequence; nothing if it is no event of an LP.
  std::optional<ReadEvent> read_packet(protozero::data_view packet);
  void read_head_note(Note note, std::uint64_t number, double real, std::string_view text);
  void read_tail_note(Note note, std::uint64_t number);
  void intern(protozero::data_view interned);
  const std::unordered_map<LpId, std::string>& lp_names() const;
  std::string lp_name(LpId lp) const;  ///< "" for an LP without a name

  const std::string path_;
  const char* bytes_ = nullptr;
  std::size_t size_ = 0;
  CheckedReader at_, first_;
  std::unordered_map<std::uint64_t, std::string_view> names_;
  std::unordered_map<std::uint64_t, Note> notes_;
  mutable std::optional<std::unordered_map<LpId, std::string>> lp_names_;
  Facts facts_;
  Tail tail_;
  bool has_head_ = false, has_tail_ = false, is_over_ = false;
};

}  // namespace orrery::trace
