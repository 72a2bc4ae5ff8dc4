// SPDX-License-Identifier: Apache-2.0
//
// The page of a study, from its study.json and the pictures beside it: what was varied, what came
// of it at each point with the interval in which the mean lies, and what failed.
#pragma once

#include <string>

#include "page/json_place.h"

namespace orrery::page {

/// Whether that folder is a study's.
bool is_study(const std::string& path);

/// Throws UsageError for a study that is not over, or whose file cannot be read.
std::string page_of_study(const std::string& path);

}  // namespace orrery::page
