// SPDX-License-Identifier: Apache-2.0
//
// Completion of command lines. The shells' scripts hold no word of ours: at each press of the key
// they ask "orrery complete -- WORD...", and what is declared answers, with what this build has and
// the model on the line says of itself. A script with lists in it would be of yesterday's command,
// and would know no model of the user's.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/command_line.h"

namespace orrery::cli {

/// The scripts' verb. It is no declared command: nobody writes it, and all words behind it are
/// those of another line.
inline constexpr std::string_view kCompleteVerb = "complete";

/// Lines as in Candidates::lines, for words behind "orrery" of which the last is that at the
/// cursor. A first word "--" is passed over.
std::string completions(const CommandLine& commands, std::vector<std::string> words);

}  // namespace orrery::cli
