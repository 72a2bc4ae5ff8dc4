// SPDX-License-Identifier: Apache-2.0
#include "run/threads/supervised_run.h"

#include <algorithm>
#include <new>
#include <system_error>

#include "memory/application_mode.h"
#include "memory/region.h"
#include "run/containment/activity.h"
#include "run/containment/faults.h"
#include "run/execution/time_limit.h"

namespace orrery {
namespace {

/// All events before `reached` are committed: engines update the counters of one moment together.
RunResult failed(const Model& model, const RunOptions& options, const RunControl& control,
                 std::string sentence) {
  RunResult result;
  result.end = RunEnd::failed;
  result.fault = std::move(sentence);
  result.reached =
      std::min(Time::from_ticks(control.gvt_ticks.load(std::memory_order_relaxed)), options.until);
  result.committed = control.committed.load(std::memory_order_relaxed);
  result.executed = std::max(result.committed, control.executed.load(std::memory_order_relaxed));
  result.metrics.resize(model.metrics().size());
  result.notes.emplace_back(
      "the run failed: at least the reported events were committed; there is no fingerprint, no "
      "metric and no result, and tables end before the time that was reached");
  return result;
}

}  // namespace

RunResult run_supervised(Engine& engine, const Model& model, const RunOptions& options,
                         RunControl& control) {
  const auto end = [&](const std::string& sentence) {
    return failed(model, options, control, sentence);
  };
  try {
    const ThreadWatch watch(control.threads, model);  // this thread makes and ends LPs
    const EventTimeLimit limit(options, control.threads);
    RunResult result = engine.run(model, options, control);
    if (result.end == RunEnd::fault && tells_system_failure(result.fault))
      result.end = RunEnd::failed;
    if (options.pending == "ladder" || options.pending == "heap")
      result.notes.push_back("the radix heap is the only pending event set now: --pending " +
                             options.pending + " changes nothing");
    return result;
  } catch (const SystemFailure& failure) {
    return end(failure.what());
  } catch (const std::bad_alloc&) {
    return end(std::string(kSystemFailure) + "the platform: there is no memory left" +
               memory::Region::limit_advice());
  } catch (const std::system_error& error) {
    return end(std::string(kSystemFailure) + "the platform: " + error.what());
  }
}

}  // namespace orrery
