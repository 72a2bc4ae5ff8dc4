// SPDX-License-Identifier: Apache-2.0
//
// The candidates for a place of a command line, found from how the place is declared: operands of
// commands and types of options are words of one small language.
//
//   MODEL       a model's name or a shared object   ENGINE     an engine's name
//   FILE, DIR   a file, a folder                    X.toml     a file of that kind
//   COMMAND     a subcommand                        PARAMETER  of the model on the line
//   METRIC, METRIC=TIME, CONDITION                  the model's metrics, with the text behind them
//   NAME=VALUE, NAME=VALUES                         the model's parameters with their values
//   a|B         either: in lower case the word itself; else one of these kinds
//   A,...       a list                              A...       several words
//
// For any other name the choices come from the option.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/command_line.h"
#include "run/options/option.h"

namespace orrery::cli {

/// Keeps the order in which candidates were added; drops those that do not begin with the current
/// word.
class Candidates {
 public:
  /// `current`: the word at the cursor, up to the cursor.
  explicit Candidates(std::string current) : current_(std::move(current)) {}

  const std::string& current() const { return current_; }
  void add(const std::string& word, const std::string& help = "") { add("word", word, help); }
  /// A beginning of a word: the shell adds no space behind it.
  void add_part(const std::string& word, const std::string& help = "") { add("part", word, help); }
  /// Files that match the pattern, and folders; `prefix`: the part of the word before the file
  /// name.
  void add_files(const std::string& pattern, const std::string& prefix);
  void add_folders(const std::string& prefix);

  /// The lines that shell scripts read, each "word|part TAB text TAB help" or "file|folder TAB
  /// pattern TAB prefix".
  const std::string& lines() const { return lines_; }

 private:
  void add(const char* kind, const std::string& word, const std::string& help);

  std::string current_, lines_;
};

/// A place in a command line.
struct Place {
  const CommandLine& commands;
  std::string model;                     ///< name or file of the model on the line; empty: none
  std::vector<std::string> set;          ///< the parameters that have a value already
  bool is_fork = false;                  ///< the command is `fork`, for some parameters only
  const OptionBase* declared = nullptr;  ///< the option whose value stands here, or null
};

/// Adds all values that `type` allows, behind `prefix`, with which the current word begins.
void add_values(Candidates& candidates, std::string_view type, const std::string& prefix,
                const Place& place);

}  // namespace orrery::cli
