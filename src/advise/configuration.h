// SPDX-License-Identifier: Apache-2.0
//
// A configuration of a run (engine, workers, ranks, options), and its results in short runs.
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
  std::vector<std::string> options;  ///< other options as written: "--checkpoint=copy"

  unsigned executors() const { return workers * ranks; }
  /// The part of the name that does not depend on the number of executors.
  std::string family() const;
  /// The same with `count` executors: as ranks if it has several ranks, else as workers.
  Configuration with_executors(unsigned count) const;
  /// "timewarp, 2 workers"
  std::string name() const;
  /// The words behind the model on the command line.
  std::vector<std::string> words() const;
  bool operator==(const Configuration&) const = default;
};

struct Measured {
  Configuration configuration;
  std::vector<Sample> samples;
  double committed = 0, executed = 0;  ///< events of all samples
  double start_seconds = 0;            ///< time outside of the event loop, of the last sample
  std::uint64_t memory_bytes = 0;      ///< maximum of the samples
  std::string refusal;                 ///< why there are no samples, or no more
  bool beyond_cores = false;           ///< more executors than cores; not to be recommended

  double efficiency() const { return executed > 0 ? committed / executed : 1; }
  std::optional<CostFit> fit() const { return fit_cost(samples); }
};

}  // namespace orrery::advise
