// SPDX-License-Identifier: Apache-2.0
//
// The page of one run.
#pragma once

#include <string>

#include "page/run_folder.h"

namespace orrery::page {

std::string page_of_run(const RunFolder& run);

/// Says at the top of a page that a run did not come to its end, and why; empty if it did.
/// `name`: of the run, where there are several.
std::string end_banner(const Json& report, const std::string& name = "");

/// Parameters that were changed; folded: the others, options, files read.
std::string parameters_markup(const RunFolder& run);
/// "auto, 2 workers, seed 1"
std::string shape_text(const Json& report);
/// The words of the command, quoted where a shell needs it.
std::string command_text(const Json& report);

}  // namespace orrery::page
