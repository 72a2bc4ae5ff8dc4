// SPDX-License-Identifier: Apache-2.0
#include "cli/option_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "core/model_registry.h"
#include "orrery/error.h"

namespace orrery::cli {
namespace {

/// Options of the command line that no file can set.
bool is_of_line(const std::string& flag) {
  return flag == "--help" || flag == "--set" || flag == "--config" || flag == "--again";
}

}  // namespace

std::string file_place(const std::string& file, std::size_t line, std::string_view key) {
  return fmt::format("{}, line {}, '{}': ", file, line, key);
}

std::string FilePlaces::of(const std::string& key) const {
  const auto found = lines.find(key);
  if (found == lines.end()) return "";
  const std::size_t dot = key.find('.');
  return file_place(file, found->second, dot == std::string::npos ? key : key.substr(dot + 1));
}

void OptionTable::place(CLI::Option& option, const std::string& type) const {
  option.type_name(type);
  if (!heading_.empty()) option.group(heading_);
}

void OptionTable::operand(const char* name, std::string& text, const std::string& help) {
  place(*command_.add_option(name, text, help), "");
}

void OptionTable::operands(const char* name, std::vector<std::string>& texts,
                           const std::string& help) {
  place(*command_.add_option(name, texts, help), "");
}

void OptionTable::value(const std::string& flag, std::string& text, const std::string& type,
                        const std::string& help) {
  place(*command_.add_option(flag, text, help), type);
}

void OptionTable::values(const std::string& flag, std::vector<std::string>& texts,
                         const std::string& type, const std::string& help) {
  place(*command_.add_option(flag, texts, help)->allow_extra_args(false), type);
}

void OptionTable::flag(const std::string& flag, bool& on, const std::string& help) {
  place(*command_.add_flag(flag, on, help), "");
}

void OptionTable::flag(const std::string& flag, std::string& text, const std::string& help) {
  place(*command_.add_flag(flag, text, help), "");
}

void OptionTable::flag_with_value(const std::string& flag, const std::string& otherwise,
                                  std::string& text, const std::string& type,
                                  const std::string& help) {
  place(*command_.add_flag(flag + "{" + otherwise + "}", text, help), type);
}

std::vector<std::string> OptionTable::flags() const {
  std::vector<std::string> flags;
  for (const CLI::Option* option : command_.get_options())
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
  return flags;
}

bool OptionTable::takes_value(const std::string& flag) const {
  const CLI::Option* const option = command_.get_option_no_throw(flag);
  return option != nullptr && option->get_items_expected_min() > 0;
}

bool OptionTable::is_given(const std::string& flag) const {
  return command_.get_option(flag)->count() > 0;
}

std::vector<std::string> OptionTable::given() const {
  std::vector<std::string> names;
  for (const CLI::Option* option : command_.get_options())
    if (option->count() > 0) names.push_back(option->get_name());
  return names;
}

void OptionTable::set_by_file(FilePlaces& places, const std::string& key, std::size_t line,
                              const std::vector<std::string>& values,
                              std::vector<std::string> others) {
  const std::string flag = "--" + key, place = file_place(places.file, line, key);
  CLI::Option* const option = is_of_line(flag) ? nullptr : command_.get_option_no_throw(flag);
  if (option == nullptr) {
    for (const std::string& known : flags())
      if (!is_of_line(known)) others.push_back(known.substr(2));
    throw UsageError(fmt::format("{}there is no such key{} (keys: {})", place,
                                 near_matches(key, others), fmt::join(others, ", ")));
  }
  if (option->count() > 0) return;
  const std::string joined = fmt::format("{}", fmt::join(values, ","));
  try {
    // "1,2,4" without quotes arrives as three words.
    if (option->get_items_expected_max() > 1)
      for (const std::string& value : values) option->add_result(value);
    else
      option->add_result(joined);
    option->run_callback();
  } catch (const CLI::Error&) {
    throw UsageError(fmt::format("{}it cannot be '{}'", place, joined));
  }
  places.lines[key] = line;
  places_ = &places;
}

std::string OptionTable::located(const std::string& message) const {
  const std::string flag = message.substr(0, message.find_first_of(" :="));
  if (places_ == nullptr || !flag.starts_with("--") || is_of_line(flag)) return message;
  return places_->of(flag.substr(2)) + message;
}

void OptionTable::refuse_missing_values() const {
  for (const CLI::Option* option : command_.get_options()) {
    for (const std::string& value : option->results()) {
      if (value.empty()) {
        throw UsageError(fmt::format("{} is given an empty value; give it another or leave it away",
                                     option->get_name()));
      }
      if (value.starts_with("--") && command_.get_option_no_throw(value) != nullptr)
        throw UsageError(
            fmt::format("{} needs a value, and '{}' is an option", option->get_name(), value));
    }
  }
}

}  // namespace orrery::cli
