// SPDX-License-Identifier: Apache-2.0
//
// What --help prints. The help of a command with many options is one screen: the options that users
// need first, two examples, and the subjects to ask for ("orrery run --help checkpoints"). A
// subject is a group of options. The manual has all options in one text.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/command_texts.h"

namespace CLI {
class App;
class FormatterBase;
}  // namespace CLI

namespace orrery::cli {

/// The formatter of a command's help.
std::shared_ptr<CLI::FormatterBase> help_formatter(const CommandText& text);

/// The help that `words`, a whole command line with --help, asks for. Throws UsageError if the word
/// behind --help is no subject.
std::string help_text(const CLI::App& app, const std::vector<std::string>& words);

}  // namespace orrery::cli
