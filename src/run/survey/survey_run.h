// SPDX-License-Identifier: Apache-2.0
//
// A run that only examines sends: `orrery describe MODEL --measure`. It executes one event after
// another like any engine, but does not enforce the model's promises: it lists the sends that break
// one, so that an author sees all of them at once. Rows and metrics are discarded, and finish() is
// not called.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "run/engine.h"
#include "run/survey/duration_survey.h"

namespace orrery {

struct SurveyLimits {
  std::uint64_t events;
  double seconds;  ///< of wall-clock time
};

struct SurveyResult {
  /// `paused`: a limit was reached before the horizon.
  RunEnd end = RunEnd::completed;
  std::string fault;  ///< a sentence, if end is fault
  Time reached;
  std::uint64_t events = 0;
  std::vector<EdgeKind> edges;
  std::vector<EventDelays> delays;
  std::string conclusion;             ///< of the survey, a sentence
  std::uint64_t broken = 0;           ///< sends that break a promise
  std::vector<std::string> breaches;  ///< the first of them, worded as in model faults

  static constexpr std::size_t kMostBreaches = 10;
};

/// Throws UsageError and ModelFault for a model that no engine can run.
SurveyResult survey_run(const Model& model, const RunOptions& options, const SurveyLimits& limits,
                        RunControl& control);

}  // namespace orrery
