// SPDX-License-Identifier: Apache-2.0
//
// What is told of each command beside its options: what follows its name, what it does, examples,
// files. --help, the manual pages and the completion of words take it from here, so that none of
// them says something else than the others.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace orrery::cli {

/// Something that has a name, and what it is.
struct Entry {
  std::string_view name, meaning;
};

struct CommandText {
  std::string_view name;  ///< empty: of orrery itself
  std::string_view summary;
  /// What follows the name, a word each (candidates.h).
  std::string_view operands;
  std::string_view prose;     ///< lines of text; paragraphs have an empty line between them
  std::string_view examples;  ///< a line each, as in a shell
  std::string_view more{};  ///< prose after them; lines that begin with two blanks stay as they are
  std::span<const Entry> files{};

  std::string footer() const;  ///< of --help
};

/// Of orrery itself first, then in the order of the help.
std::span<const CommandText> command_texts();
/// The name must be one of theirs.
const CommandText& command_text(std::string_view name);

/// Of all commands.
std::span<const Entry> exit_codes();
/// Variables of the environment.
std::span<const Entry> environment_texts();

}  // namespace orrery::cli
