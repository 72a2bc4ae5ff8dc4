// SPDX-License-Identifier: Apache-2.0
//
// A way to run a model, and what came of it in short runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "advise/cost_fit.h"

namespace orrery::advise {

struct Configuration {
  std::string engine;
  unsigned workers = 1;  ///< of each rank
  unsigned ranks = 1;
  std::vector<std::string> options;  ///< others, as they are written: "--checkpoint=copy"

  unsigned executors() const { return workers * ranks; }
  /// What is equal where only the number of executors differs.
  std::string family() const;
  /// The same with so many executors, as workers or as ranks, whichever it has several of.
  Configuration with_executors(unsigned count) const;
  /// "timewarp, 2 workers"
  std::string name() const;
  /// What follows the model on the command line.
  std::vector<std::string> words() const;
  bool operator==(const Configuration&) const = default;
};

struct Measured {
  Configuration configuration;
  std::vector<Sample> samples;
  double committed = 0, executed = 0;  ///< events of all of them
  double start_seconds = 0;            ///< beside the loop, of the last one
  std::uint64_t memory_bytes = 0;      ///< at most
  std::string refusal;                 ///< why there are none, or no more
  bool beyond_cores = false;           ///< measured for what it costs, not to be recommended

  double efficiency() const { return executed > 0 ? committed / executed : 1; }
  std::optional<CostFit> fit() const { return fit_cost(samples); }
};

}  // namespace orrery::advise
