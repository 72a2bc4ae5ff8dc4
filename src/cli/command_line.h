// SPDX-License-Identifier: Apache-2.0
//
// All commands with their options, for everything that reads a command line, writes the manual or
// completes words.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/command.h"

namespace CLI {
class App;
}

namespace orrery::cli {

class CommandLine {
 public:
  CommandLine();
  ~CommandLine();

  /// Executes the command in `argv`, or shows the help. Returns the exit code. Throws UsageError.
  int execute(int argc, char** argv);

  const CLI::App& app() const { return *app_; }
  /// The texts of all commands, in the order of the help.
  std::vector<const CommandText*> texts() const;
  /// The options of a command; null if there is no such command.
  const CLI::App* find(std::string_view name) const;

 private:
  /// A command with its options.
  struct Declared {
    std::unique_ptr<Command> command;
    OptionTable options;
  };
  Declared* declared(std::string_view name);
  int run_chosen(const Invocation& call);
  void refuse_unknown_command() const;

  std::unique_ptr<CLI::App> app_;
  std::vector<Declared> commands_;
};

}  // namespace orrery::cli
