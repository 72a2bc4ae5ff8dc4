// SPDX-License-Identifier: Apache-2.0
//
// The texts about each command beside its options: operands, description, examples, files. --help,
// the manual pages and the completion of words all take these texts, so they cannot contradict each
// other.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace orrery::cli {

/// A name and its meaning.
struct Entry {
  std::string_view name, meaning;
};

struct CommandText {
  std::string_view name;  ///< empty: orrery itself
  std::string_view summary;
  /// The operands, a word each (candidates.h).
  std::string_view operands;
  std::string_view prose;     ///< lines of text; paragraphs have an empty line between them
  std::string_view examples;  ///< a line each, as in a shell
  std::string_view more{};    ///< prose after the examples; lines indented by two stay lines
  std::span<const Entry> files{};

  std::string footer() const;         ///< of --help
  std::string short_footer() const;   ///< with the first two examples
  std::string examples_text() const;  ///< the examples, and what follows them
};

/// orrery itself first, then the commands in the order of the help.
std::span<const CommandText> command_texts();
/// `name` must be one of command_texts().
const CommandText& command_text(std::string_view name);

/// The exit codes of all commands.
std::span<const Entry> exit_codes();
/// Variables of the environment.
std::span<const Entry> environment_texts();

}  // namespace orrery::cli
