// SPDX-License-Identifier: Apache-2.0
//
// The page of one run.
#pragma once

#include <string>

#include "page/run_folder.h"

namespace orrery::page {

std::string page_of_run(const RunFolder& run);

/// A note at the top of a page that the run did not reach its horizon, with the reason; empty if it
/// did. `name`: of the run, on a page of several.
std::string end_banner(const Json& report, const std::string& name = "");

/// The changed parameters; folded: other parameters, options, input files.
std::string parameters_markup(const RunFolder& run);
/// "auto, 2 workers, seed 1"
std::string shape_text(const Json& report);
/// The command line, quoted where a shell needs it.
std::string command_text(const Json& report);

}  // namespace orrery::page
