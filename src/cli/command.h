// SPDX-License-Identifier: Apache-2.0
//
// A subcommand of `orrery` is one file: a class that has the texts, declares the options, runs, and
// registers itself. --help, the manual and completion are made from texts and declarations, so they
// cannot contradict each other.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/option_table.h"

namespace orrery::cli {

inline constexpr int kExitOk = 0;
inline constexpr int kExitMismatch = 1;  ///< compare, --again or trace diff found a difference
inline constexpr int kExitUsage = 2;     ///< wrong options, parameters, input files, output folder
inline constexpr int kExitFault = 3;     ///< the model did something that a model must not do
inline constexpr int kExitSystem = 4;    ///< the system had no memory or no threads
inline constexpr int kExitInternal = 70;
inline constexpr int kExitSignal = 128;  ///< + the signal: 130 for Ctrl-C

/// A name and its meaning.
struct Entry {
  std::string_view name, meaning;
};

/// The texts about a command beside its options.
struct CommandText {
  std::string_view name;  ///< empty: orrery itself
  std::string_view summary;
  /// The operands, a word each (candidates.h).
  std::string_view operands;
  std::string_view prose;     ///< lines of text; paragraphs have an empty line between them
  std::string_view examples;  ///< a line each, as in a shell; the help begins with the first two
  std::string_view more{};    ///< prose after the examples; lines indented by two stay lines
  std::span<const Entry> files{};
  bool takes_command = false;  ///< words behind "--" are another command
};

/// The words of a command line.
struct Invocation {
  char* const* argv = nullptr;     ///< all words, for processes that are started like this one
  std::vector<std::string> words;  ///< behind "orrery", for the report
  std::vector<std::string> other;  ///< behind "--", if CommandText::takes_command
};

class Command {
 public:
  explicit Command(const CommandText& text) : text_(text) {}
  virtual ~Command() = default;
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  const CommandText& text() const { return text_; }
  virtual void declare(OptionTable& options) = 0;
  /// The words to parse instead of `words`, which follow the command's name.
  virtual std::vector<std::string> replaced(const OptionTable&, std::vector<std::string> words) {
    return words;
  }
  /// Returns the exit code. Throws UsageError or ModelFault to refuse something; main prints the
  /// error as one sentence.
  virtual int run(OptionTable& options, const Invocation& call) = 0;

 private:
  const CommandText& text_;
};

/// All commands, in the order of the help.
std::vector<std::unique_ptr<Command>> make_commands();

template <class Made>
std::unique_ptr<Command> make_command() {
  return std::make_unique<Made>();
}

/// Adds a command to make_commands(), as a static object. `place`: among the commands in the help.
struct CommandEntry {
  CommandEntry(int place, std::unique_ptr<Command> (*make)());
};

/// The texts of orrery itself.
const CommandText& own_text();
/// The exit codes of all commands.
std::span<const Entry> exit_codes();
/// Variables of the environment.
std::span<const Entry> environment_texts();

}  // namespace orrery::cli
