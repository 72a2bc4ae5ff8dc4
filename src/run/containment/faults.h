// SPDX-License-Identifier: Apache-2.0
//
// Model faults: the sentences that describe them, equal on all engines, and the LPs that took part
// in a livelock.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/crash.h"
#include "core/key.h"
#include "orrery/logical_process.h"
#include "orrery/model.h"

namespace orrery {

/// "LP 5 (router3), event Arrival at 12.5 s" for messages. `event_name` empty: the start of the run.
std::string describe_event(const Model& model, LpId lp, std::string_view event_name, Time time);

/// The beginning of a sentence about a failure of the system, not of the model. Code that has only
/// the sentence recognises the failure by it.
inline constexpr std::string_view kSystemFailure = "the system failed in ";
inline bool tells_system_failure(std::string_view sentence) {
  return sentence.starts_with(kSystemFailure);
}

/// The sentence for the exception being handled (call from a catch block). A failed allocation of a
/// size that this machine could have had is the system's failure; everything else is the model's
/// fault.
std::string describe_current_exception(const Model& model, LpId lp, std::string_view event_name,
                                       Time time);

/// The same, followed by lines with the call stack of a crash, for faults that end a run at once.
std::string report_current_exception(const Model& model, LpId lp, std::string_view event_name,
                                     Time time);

/// "of an unknown type" if the LP has no handler.
std::string_view name_of_event(const LogicalProcessBase& lp, EventTypeId type);

/// Simulation time in the model's seconds, "12.5 s".
std::string time_text(const Model& model, Time time);

/// The participants of a livelock: the LPs of the last steps before the limit, at the latest
/// instant that came near it. Only steps that commit may be noted, so that the sentence is the same
/// on all engines. Costs one comparison a step.
class LivelockTrail {
 public:
  explicit LivelockTrail(std::uint32_t limit) : from_(limit > kSteps ? limit - kSteps : 1) {}

  /// Whether events with microsteps up to this one may have to be noted.
  bool concerns(std::uint32_t microstep) const { return microstep >= from_; }
  void note(const Key& key, LpId lp) {
    if (concerns(key.microstep())) [[unlikely]]
      add(key.time(), lp);
  }
  /// Adds the notes of another worker.
  void merge(const LivelockTrail& other);
  // For transfer to another process.
  Time instant() const { return instant_; }
  const std::vector<LpId>& lps() const { return lps_; }
  void restore(Time instant, std::vector<LpId> lps) {
    instant_ = instant;
    lps_ = std::move(lps);
  }
  void merge(Time instant, const std::vector<LpId>& lps);
  /// "; LPs on it: 3 (router1), 5, 8 and others" for a livelock that was found at `instant`.
  std::string text(const Model& model, Time instant) const;

 private:
  static constexpr std::uint32_t kSteps = 64;
  static constexpr std::size_t kNamed = 16;

  void add(Time instant, LpId lp);

  std::uint32_t from_;
  Time instant_;
  std::vector<LpId> lps_;  ///< sorted; the lowest, one more than are named
};

/// A handler that failed.
struct HandlerFault {
  Key key;
  LpId lp;
  std::string sentence;
  CrashTrace trace = trace_of_current_exception();  ///< of the exception being handled
};

/// The sentence that ends a run, from the notes of all its workers.
class FaultReport {
 public:
  /// For the fault at `key`, which commits.
  FaultReport(const Key& key, std::uint32_t livelock_limit)
      : key_(key), limit_(livelock_limit), trail_(livelock_limit) {}

  /// nullptr: the fault was not this worker's.
  void add(const HandlerFault* fault) {
    if (fault == nullptr) return;
    sentence_ = fault->sentence;
    frames_ = fault->trace.frames;
    trail_.note(key_, fault->lp);
  }
  /// The same for another rank, whose frames are already text.
  void add(LpId lp, std::string sentence, std::string frames);
  void add(const LivelockTrail& trail) { trail_.merge(trail); }
  /// The sentence, followed by lines with the call stack of a crash.
  std::string text(const Model& model) const;

 private:
  const Key key_;
  const std::uint32_t limit_;
  std::string sentence_;
  Frames frames_;
  std::string frame_lines_;  ///< of another rank, in place of frames_
  LivelockTrail trail_;
};

}  // namespace orrery
