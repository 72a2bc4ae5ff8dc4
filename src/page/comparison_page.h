// SPDX-License-Identifier: Apache-2.0
//
// The page of several runs side by side: in what they differed, what came of it, and whether their
// fingerprints are equal. The first run is what the others are compared with.
#pragma once

#include <string>
#include <vector>

#include "page/run_folder.h"

namespace orrery::page {

std::string page_of_comparison(const std::vector<RunFolder>& runs);

/// What the fingerprints of runs mean together.
enum class Verdict {
  equal,       ///< the same committed events and final states
  incomplete,  ///< one of them says only how far its run came
  expected,    ///< different, and so was what was asked for
  wrong,       ///< different though all that decides about them is the same
  unclear      ///< different, and so were input files or builds
};
Verdict verdict_of(const std::vector<const Json*>& reports);

}  // namespace orrery::page
