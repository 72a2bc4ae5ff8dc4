// SPDX-License-Identifier: Apache-2.0
//
// The file format of traces: the part of the Perfetto format that Orrery uses
// (protos/perfetto/trace/*.proto of the Perfetto project; the numbers of its fields, types and
// flags are below), and how a run is stored in it. A file is a sequence of packets. Packets with
// the same *sequence* number share a table of names, in which a name is defined at its first use.
//
//   sequence 1    committed events, in the order of their keys: a track for each LP, at simulated
//                 time. The same bytes on every engine: nothing of the run's course is in them.
//   sequence 2+r  records of the workers of rank r: a track for each, at wall-clock time.
//
// Both times begin at 0. ui.perfetto.dev shows one axis for all tracks, so simulated and wall-clock
// times overlap there without any relation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/lp_text.h"
#include "run/execution/trace_recorder.h"

namespace orrery::trace {

// ---- The Perfetto format

namespace field {
inline constexpr std::uint32_t kPacket = 1;
// TracePacket
inline constexpr std::uint32_t kTimestamp = 8, kSequence = 10, kTrackEvent = 11, kInterned = 12,
                               kSequenceFlags = 13, kTrackDescriptor = 60;
// TrackDescriptor
inline constexpr std::uint32_t kUuid = 1, kTrackName = 2, kProcess = 3, kParent = 5, kCounter = 8,
                               kChildOrdering = 11, kOrderRank = 12, kDescription = 14;
// ProcessDescriptor, CounterDescriptor
inline constexpr std::uint32_t kPid = 1, kProcessName = 6, kUnitName = 6;
// TrackEvent
inline constexpr std::uint32_t kAnnotation = 4, kType = 9, kNameIid = 10, kTrackUuid = 11,
                               kCounterValue = 30, kDoubleCounterValue = 44, kFlows = 47,
                               kEndingFlows = 48;
// InternedData, and its EventName and DebugAnnotationName
inline constexpr std::uint32_t kEventNames = 2, kAnnotationNames = 3, kIid = 1, kName = 2;
// DebugAnnotation
inline constexpr std::uint32_t kAnnotationIid = 1, kBool = 2, kUint = 3, kInt = 4, kDouble = 5,
                               kString = 6, kPointer = 7;
}  // namespace field

enum class EventKind : std::int32_t { begin = 1, end = 2, instant = 3, counter = 4 };
inline constexpr std::uint32_t kStateCleared = 1, kNeedsState = 2;  // of kSequenceFlags
inline constexpr std::int32_t kExplicitOrder = 3;                   // of kChildOrdering

// ---- Orrery's use of the format

inline constexpr std::uint32_t kCommittedSequence = 1, kFirstLifeSequence = 2;

/// Tracks.
inline constexpr std::uint64_t kLpsTrack = 1, kFirstLpTrack = 16;
inline constexpr std::uint64_t kRankTracks = std::uint64_t{1} << 40;  ///< times the rank + 1

/// Notes of an event, by the number of their name, an index of kNotes.
enum class Note : std::uint32_t {
  ticks = 1,
  microstep,
  sender,
  send,
  payload,
  duration,
  fingerprint,
  first_send,
  sends,
  version,
  model,
  parameters,
  seed,
  tick_seconds,
  lps,
  lp_ranges,
  from,
  to,
  events,
  whole,
  until,
  lp,
  undone,
  bytes,
  committed,
  left_out,
  phase
};
inline constexpr std::string_view kNotes[] = {
    "",           "ticks",       "microstep",    "sender", "send",       "payload bytes",
    "duration",   "fingerprint", "first send",   "sends",  "version",    "model",
    "parameters", "seed",        "tick seconds", "LPs",    "traced LPs", "from",
    "to",         "events",      "whole",        "until",  "LP",         "undone",
    "bytes",      "committed",   "left out",     "phase"};

inline constexpr std::uint64_t kVersion = 2;  ///< 1: without phases
/// The names of the events that describe the run, and the end of the trace.
inline constexpr std::string_view kHead = "orrery trace", kTail = "end of the trace";
inline constexpr std::string_view kStart = "start";

/// The facts of a run that are the same on all engines.
struct Facts {
  std::string model;
  std::vector<std::string> parameters;  ///< "lps=1000"
  std::uint64_t seed = 1;
  double tick_seconds = 1e-9;
  std::uint64_t lps = 0;
  TraceScope scope;
  /// The text of an LP, "LP 5 (router3)", when a file is written; readers have TraceReader::lp_text.
  std::function<std::string(LpId)> lp_text = [](LpId lp) { return orrery::lp_text(lp, ""); };
};

/// Reads a simulated time from an option; `otherwise` for an empty text. Throws UsageError.
Time read_time(const std::string& flag, const std::string& text, double tick_seconds,
               Time otherwise);

/// "0..3,7"; "all".
std::string text_of(const LpRanges& lps);

}  // namespace orrery::trace
