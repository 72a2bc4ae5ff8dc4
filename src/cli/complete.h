// SPDX-License-Identifier: Apache-2.0
//
// Completion of command lines. The shells' scripts contain no names of commands or options: at each
// press of the key they call "orrery complete -- WORD...", which answers from the declared options,
// the parts of this build and the model on the line. A script with lists in it would describe an
// older version of the command, without the user's models.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace orrery::cli {

/// The subcommand that the scripts call. It is not declared as a command: users do not type it, and
/// all words behind it belong to another command line.
inline constexpr std::string_view kCompleteVerb = "complete";

/// Lines as in Candidates::lines. `words`: the words behind "orrery", the last of them the word at
/// the cursor. A first word "--" is skipped.
std::string completions(std::vector<std::string> words);

}  // namespace orrery::cli
