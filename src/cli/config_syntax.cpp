// SPDX-License-Identifier: Apache-2.0
#include "cli/config_syntax.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "core/text.h"
#include "orrery/error.h"

namespace orrery::cli {
namespace {

constexpr std::string_view kBlanks = " \t\r\f\v";

class ConfigReader {
 public:
  explicit ConfigReader(const std::string& path, std::string_view text)
      : path_(path), text_(text) {}

  std::vector<ConfigEntry> read() {
    while (next_line()) {
      if (rest_.empty() || rest_.front() == '#' || rest_.front() == ';') continue;
      rest_.front() == '[' ? read_section() : read_entry();
    }
    if (entries_.empty() && !in_set_)
      throw UsageError(fmt::format("config file '{}' holds no option", path_));
    return std::move(entries_);
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const { refuse_config(path_, line_, what); }

  bool next_line() {
    if (text_.empty()) return false;
    const std::size_t end = std::min(text_.find('\n'), text_.size());
    rest_ = trimmed(text_.substr(0, end));
    text_.remove_prefix(std::min(end + 1, text_.size()));
    ++line_;
    for (const char c : rest_)
      if (is_binary(c))
        refuse(fmt::format("a line of text is expected, found the byte 0x{:02x}",
                           static_cast<unsigned char>(c)));
    return true;
  }

  bool at_line_end() {
    rest_ = trimmed(rest_);
    return rest_.empty() || rest_.front() == '#';
  }

  /// Reads text in quotes; the next character is the opening quote.
  std::string read_quoted() {
    const char quote = rest_.front();
    const std::size_t end = rest_.find(quote, 1);
    if (end == std::string_view::npos) refuse(fmt::format("the closing {} is missing", quote));
    std::string text(rest_.substr(1, end - 1));
    rest_.remove_prefix(end + 1);
    return text;
  }

  /// Reads up to one of `ends`; refuses quotes and brackets.
  std::string read_word(std::string_view ends) {
    const std::size_t end = std::min(rest_.find_first_of(ends), rest_.size());
    const std::string_view word = trimmed(rest_.substr(0, end));
    if (const std::size_t odd = word.find_first_of("\"'[]{}"); odd != std::string_view::npos)
      refuse(fmt::format("'{}' holds a {}: text with such characters stands in quotes", word,
                         word[odd]));
    rest_.remove_prefix(end);
    return std::string(word);
  }

  void read_section() {
    const std::size_t end = rest_.find(']');
    const std::string_view name = trimmed(rest_.substr(1, end - 1));
    if (end == std::string_view::npos)
      refuse("a section '[set]' is expected, without ']' it is none");
    if (name != "set")
      refuse(fmt::format(
          "there is no section '{}'; parameters go into [set], options stand before it", name));
    rest_.remove_prefix(end + 1);
    if (!at_line_end())
      refuse(fmt::format("behind '[set]' nothing is expected, found '{}'", rest_));
    in_set_ = true;
  }

  void read_entry() {
    const std::string_view whole = rest_;
    ConfigEntry entry;
    entry.is_parameter = in_set_;
    entry.line = line_;
    const bool is_quoted = rest_.front() == '"' || rest_.front() == '\'';
    const bool is_entry = rest_.find('=') != std::string_view::npos;
    if (is_entry) entry.key = is_quoted ? read_quoted() : read_word("=#");
    if (!is_entry || entry.key.empty() || at_line_end() || rest_.front() != '=')
      refuse(fmt::format(
          "'KEY = VALUE' is expected, such as 'seed = 7' or 'quiet = true', found '{}'", whole));
    rest_.remove_prefix(1);
    const auto [earlier, is_new] = lines_.try_emplace({in_set_, entry.key}, line_);
    if (!is_new)
      refuse(fmt::format("'{}' was given in line {} already", entry.key, earlier->second));
    read_values(entry);
    entries_.push_back(std::move(entry));
  }

  void read_values(ConfigEntry& entry) {
    if (at_line_end()) refuse(fmt::format("'{}' has no value", entry.key));
    const bool is_list = rest_.front() == '[';
    if (is_list) rest_.remove_prefix(1);
    for (;;) {
      if (is_list) skip_to_value(entry);
      if (is_list && rest_.front() == ']') break;  // of an empty list, or behind a last comma
      entry.values.push_back(read_value(is_list ? ",]#" : ",#"));
      if (is_list) skip_to_value(entry);
      if (at_line_end() || rest_.front() != ',') break;
      rest_.remove_prefix(1);
    }
    if (is_list && rest_.front() == ']') rest_.remove_prefix(1);
    if (!at_line_end())
      refuse(fmt::format("behind the value nothing is expected, found '{}'", rest_));
    if (entry.values.empty()) refuse(fmt::format("'{}' has no value", entry.key));
  }

  /// Within a list: skips line ends up to the next value.
  void skip_to_value(const ConfigEntry& entry) {
    while (at_line_end())
      if (!next_line())
        refuse_config(path_, entry.line,
                      fmt::format("the closing ] of '{}' is missing", entry.key));
  }

  std::string read_value(std::string_view ends) {
    if (at_line_end()) refuse("a value is expected behind ','");
    if (rest_.front() == '"' || rest_.front() == '\'') return read_quoted();
    std::string word = read_word(ends);
    if (word.empty()) refuse("a value is expected before ','");
    return word;
  }

  const std::string& path_;
  std::string_view text_, rest_;  ///< the rest of the file, and of the line
  std::size_t line_ = 0;
  bool in_set_ = false;
  std::map<std::pair<bool, std::string>, std::size_t> lines_;  ///< line numbers of keys
  std::vector<ConfigEntry> entries_;
};

}  // namespace

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return "";
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

void refuse_config(const std::string& path, std::size_t line, const std::string& what) {
  throw UsageError(fmt::format("config file '{}', line {}: {}", path, line, what));
}

std::vector<ConfigEntry> read_config(const std::string& path, std::string_view text) {
  return ConfigReader(path, text).read();
}

}  // namespace orrery::cli
