// SPDX-License-Identifier: Apache-2.0
//
// "orrery NAME ..." executes "orrery-NAME ..." if that program lies in the same folder. So this
// command does not depend on the commands that belong to a single model.
#pragma once

#include <string>
#include <vector>

namespace orrery::cli {

/// Returns if there is no such program.
void exec_external_command(int argc, char** argv);

/// The commands that "orrery" accepts because their programs lie beside it, sorted.
std::vector<std::string> external_commands();

/// What "orrery NAME --help" prints. Throws std::runtime_error.
std::string help_of_external_command(const std::string& name);

}  // namespace orrery::cli
