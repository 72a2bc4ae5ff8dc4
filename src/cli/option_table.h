// SPDX-License-Identifier: Apache-2.0
//
// The options of one command: the command declares them, and then asks for them. Hides CLI11, whose
// header takes seconds to compile.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace orrery::cli {

/// "config file 'run.toml', line 3, 'seed': "
std::string file_place(const std::string& file, std::size_t line, std::string_view key);

/// Where a file sets options and parameters, for error messages.
struct FilePlaces {
  std::string file;                          ///< "config file 'run.toml'"
  std::map<std::string, std::size_t> lines;  ///< by key; parameters as "set.NAME"

  /// The prefix of an error message about the key; empty: the file does not set the key.
  std::string of(const std::string& key) const;
};

class OptionTable {
 public:
  explicit OptionTable(CLI::App& command) : command_(command) {}

  // Declarations. The parser sets the texts, which must stay where they are. A type such as "FILE"
  // says which values the shell offers (candidates.h).
  void operand(const char* name, std::string& text, const std::string& help);
  void operands(const char* name, std::vector<std::string>& texts, const std::string& help);
  void value(const std::string& flag, std::string& text, const std::string& type,
             const std::string& help);
  /// An option that may be repeated.
  void values(const std::string& flag, std::vector<std::string>& texts, const std::string& type,
              const std::string& help);
  void flag(const std::string& flag, bool& on, const std::string& help);
  /// A flag whose text is "true" if it is given.
  void flag(const std::string& flag, std::string& text, const std::string& help);
  /// A flag that may be given a value, as in --live and --live=PORT. `otherwise`: without it.
  void flag_with_value(const std::string& flag, const std::string& otherwise, std::string& text,
                       const std::string& type, const std::string& help);
  /// The heading of the options that follow; empty: those that every command has.
  void group(std::string_view heading) { heading_ = heading; }

  /// "--help", "--seed", ...
  std::vector<std::string> flags() const;
  bool takes_value(const std::string& flag) const;  ///< false if there is no such option
  bool is_given(const std::string& flag) const;
  /// The options and operands that were given.
  std::vector<std::string> given() const;
  /// Gives the option --KEY the values in a line of a file, unless the command line gave the
  /// option. Notes the line in `places`, which this object reads until its end. `others`: keys of
  /// the file that are no options. Throws UsageError for an unknown key, and for values that the
  /// option cannot have.
  void set_by_file(FilePlaces& places, const std::string& key, std::size_t line,
                   const std::vector<std::string>& values, std::vector<std::string> others);
  /// Prefixes an error message that begins with an option with the place at which a file has set
  /// the option.
  std::string located(const std::string& message) const;
  /// No option accepts an empty value; a script with an unset variable in quotes gives one. Without
  /// quotes the variable gives no word, and the option takes the next option as its value. Throws
  /// UsageError.
  void refuse_missing_values() const;

 private:
  void place(CLI::Option& option, const std::string& type) const;

  CLI::App& command_;
  std::string heading_;
  const FilePlaces* places_ = nullptr;  ///< of the file that has set options
};

}  // namespace orrery::cli
