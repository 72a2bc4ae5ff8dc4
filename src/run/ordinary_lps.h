// SPDX-License-Identifier: Apache-2.0
//
// LPs in ordinary memory, as engines have them that never roll back: made, started and ended by one
// thread, in the order of their numbers. `Lps` is a vector of records with `object` and `kernel`.
#pragma once

#include <memory>

#include "core/kernel_state.h"
#include "orrery/error.h"
#include "run/faults.h"
#include "run/finish.h"
#include "run/model_checks.h"

namespace orrery {

/// Makes all LPs, then calls start(id) for each. False if one failed: then nothing is committed.
/// A UsageError goes through.
template <class Lps, class Start>
bool set_up_lps(const Model& model, Lps& lps, Start&& start, RunResult& result) {
  LpId id = 0;
  try {
    lps.resize(model.lp_count());
    for (; id < lps.size(); ++id) lps[id].object = create_lp(model, id);
    for (id = 0; id < lps.size(); ++id) start(id);
    return true;
  } catch (const UsageError&) {
    throw;
  } catch (...) {
    result.end = RunEnd::fault;
    result.fault = describe_current_exception(model, id, {}, Time::zero());
    result.metrics.resize(model.metrics().size());
  }
  return false;
}

/// Ends all LPs at `result.reached`, and their rows.
template <class Lps>
void finish_lps(const Model& model, Lps& lps, RowSink* rows, RunResult& result) {
  Finisher finisher(model, result.reached, rows);
  for (LpId id = 0; id < lps.size(); ++id) {
    if (result.end == RunEnd::fault) {
      finisher.abandon(id, lps[id].kernel.hash);
    } else {
      finisher.finish(id, *lps[id].object, lps[id].kernel.hash);
    }
  }
  finisher.store(result);
  if (rows != nullptr) rows->advance(0, Key::infinity());
}

}  // namespace orrery
