// SPDX-License-Identifier: Apache-2.0
//
// What every engine does the same way at the edges of a run: naming a fault, describing a send that
// is refused, and ending LPs.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/engine.h"
#include "core/event_header.h"

namespace orrery {

/// Gives engines access to what LogicalProcessBase hides from models.
struct LogicalProcessAccess {
  static const Summary* metrics(const LogicalProcessBase& lp) { return lp.metrics_; }
  /// Gives them back, in the LP's application mode: it has recorded nothing.
  static void drop_metrics(LogicalProcessBase& lp) {
    delete[] lp.metrics_;
    lp.metrics_ = nullptr;
  }
};

/// Throws UsageError for options that no engine can honour.
void check_options(const Model& model, const RunOptions& options);

/// "LP 5, event Arrival at 12.5 s" for messages. `event_name` empty: the start of the run.
std::string describe_event(const Model& model, LpId lp, std::string_view event_name, Time time);

/// The sentence for the exception being handled (call from a catch block).
std::string describe_current_exception(const Model& model, LpId lp, std::string_view event_name,
                                       Time time);

/// Simulation time in the model's seconds, "12.5 s".
std::string time_text(const Model& model, Time time);

/// Throws the ModelFault for a send that is refused; says which rule it broke.
[[noreturn]] void refuse_send(const Model& model, LpId destination, Duration delay,
                              Duration minimum_delay, Time now, LpId lp_count,
                              std::uint32_t microstep, std::uint32_t livelock_limit);

/// Key of an event sent at `cause` with `delay`, or refuse_send. `sequence`: the sender's send
/// count after this send. `minimum_delay`: the duration of the event being handled.
inline Key key_of_send(const Model& model, const Key& cause, LpId sender, std::uint64_t sequence,
                       LpId destination, LpId lp_count, Duration delay, Duration minimum_delay,
                       std::uint32_t livelock_limit) {
  std::int64_t ticks;
  const bool overflow =
      __builtin_add_overflow(cause.time().ticks(), delay.ticks(), &ticks) || ticks == INT64_MAX;
  const std::uint32_t microstep = delay.ticks() == 0 ? cause.microstep() + 1 : 0;
  if (delay < minimum_delay || overflow || destination >= lp_count || microstep > livelock_limit ||
      sequence > Key::kMaxSequence) [[unlikely]] {
    refuse_send(model, destination, delay, minimum_delay, cause.time(), lp_count, microstep,
                livelock_limit);
  }
  return Key(Time::from_ticks(ticks), microstep, sender, sequence);
}

/// Model::create, which must not return nothing.
std::unique_ptr<LogicalProcessBase> create_lp(const Model& model, LpId id);

/// finish() for one LP: returns its contribution to the fingerprint, merges its metrics.
/// `append_row` receives the rows of finish().
class Finisher {
 public:
  Finisher(const Model& model, Time end, RowSink* rows);
  /// LPs must come in order of their ids.
  void finish(LpId id, LogicalProcessBase& lp, std::uint64_t hash);
  /// The end of LP `id` is a model fault, "it ..."; the first one counts.
  void fail(LpId id, const std::string& what);
  /// In place of finish after a model fault: the state of an LP whose handler failed means nothing,
  /// so only what was committed counts.
  void abandon(LpId id, std::uint64_t hash);
  /// Hands the last rows over; the result then holds fingerprint, metrics, and a fault if a
  /// finish() failed.
  void store(RunResult& result);

 private:
  class FinishContext;
  const Model& model_;
  Time end_;
  RowSink* rows_;
  RowBuffer buffer_;
  std::string fault_;
  std::uint64_t fingerprint_ = 0;
  std::vector<Summary> totals_;
};

}  // namespace orrery
