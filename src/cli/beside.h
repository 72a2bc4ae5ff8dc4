// SPDX-License-Identifier: Apache-2.0
//
// "orrery NAME ..." is "orrery-NAME ..." where that program lies beside this one: what belongs to
// one model need not be known here.
#pragma once

#include <string>
#include <vector>

namespace orrery::cli {

/// Returns if there is no such program.
void become_command_beside(int argc, char** argv);

/// The names that "orrery" takes for this reason, sorted.
std::vector<std::string> commands_beside();

/// What "orrery NAME --help" prints. Throws std::runtime_error.
std::string help_of_command_beside(const std::string& name);

}  // namespace orrery::cli
