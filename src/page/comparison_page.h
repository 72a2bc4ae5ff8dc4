// SPDX-License-Identifier: Apache-2.0
//
// The page of several runs side by side: the differences in options, the results, and whether the
// fingerprints are equal. The other runs are compared with the first run.
#pragma once

#include <string>
#include <vector>

#include "page/run_folder.h"

namespace orrery::page {

std::string page_of_comparison(const std::vector<RunFolder>& runs);

/// The meaning of the fingerprints of several runs.
enum class Verdict {
  equal,       ///< the same committed events and final states
  incomplete,  ///< a run did not reach its horizon, so its fingerprint is not comparable
  expected,    ///< different, as are model, parameters, seed or horizon
  wrong,       ///< different though all inputs that decide about them are the same
  unclear      ///< different, as are input files or builds
};
Verdict verdict_of(const std::vector<const Json*>& reports);

}  // namespace orrery::page
