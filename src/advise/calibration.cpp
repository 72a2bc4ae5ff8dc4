// SPDX-License-Identifier: Apache-2.0
#include "advise/calibration.h"

#include <algorithm>
#include <stdexcept>
#include <vector>

namespace orrery::advise {
namespace {

constexpr double kMostSeconds = 60;

/// A change of any option changes the meaning of the factor.
std::vector<std::string> fixed_run() {
  return {"run",   "phold",       "--engine", "sequential", "--set",       "lps=8192",
          "--set", "remote=0.25", "--set",    "mean=1s",    "--until=600s"};
}

}  // namespace

std::optional<Speed> measure_speed(Runner& runner, const std::string& folder, unsigned runs) {
  std::vector<double> rates;
  for (unsigned i = 0; i < runs; ++i) {
    const RunOutcome outcome = runner.run(fixed_run(), folder, kMostSeconds);
    if (runner.signal() != 0) return std::nullopt;
    if (!outcome.is_usable())
      throw std::runtime_error("a run for the calibration failed: " + outcome.sentence);
    rates.push_back(outcome.report.at("run").at("events_per_second"));
  }
  std::sort(rates.begin(), rates.end());
  Speed speed;
  speed.rate = (rates[(rates.size() - 1) / 2] + rates[rates.size() / 2]) / 2;
  speed.factor = speed.rate / kReferenceRate;
  speed.lowest = rates.front();
  speed.highest = rates.back();
  speed.runs = runs;
  return speed;
}

}  // namespace orrery::advise
