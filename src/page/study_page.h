// SPDX-License-Identifier: Apache-2.0
//
// The page of a study, from its study.json and the pictures beside it: the varied parameters, the
// results of each point with confidence intervals, and the failures.
#pragma once

#include <string>

#include "page/json_place.h"

namespace orrery::page {

/// Whether the folder belongs to a study.
bool is_study(const std::string& path);

/// Throws UsageError for a study that has not ended, or whose file cannot be read.
std::string page_of_study(const std::string& path);

}  // namespace orrery::page
