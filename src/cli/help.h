// SPDX-License-Identifier: Apache-2.0
//
// The text of --help. The help of a command with many options is one screen: the options that users
// need first, two examples, and the names of subjects ("orrery run --help checkpoints"). A
// subject is a group of options. The manual has all options in one text.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"

namespace CLI {
class App;
}  // namespace CLI

namespace orrery::cli {

/// Gives `app`, which has the command's options, its help.
void apply_help(CLI::App& app, const CommandText& text);

/// The words that may follow --help of a command.
std::vector<std::string> help_subjects(const CLI::App& command);

/// The help that `words`, a command line with --help behind "orrery", asks for. Throws UsageError
/// if the word behind --help is no subject.
std::string help_text(const CLI::App& app, const std::vector<std::string>& words);

}  // namespace orrery::cli
