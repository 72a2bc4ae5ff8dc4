// SPDX-License-Identifier: Apache-2.0
#include "cli/study_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <toml++/toml.h>
#include <algorithm>
#include <vector>

#include "core/model_registry.h"
#include "orrery/error.h"
#include "orrery/input_file.h"

namespace orrery::cli {
namespace {

using study::Axis;
using study::Settings;

constexpr const char* kSetTable = "set";
constexpr const char* kPointTable = "point";

struct StudyEntry {
  std::string key;
  const toml::node* node;
  std::size_t line;
};

/// The entries in the order of the file, which toml::table does not keep.
std::vector<StudyEntry> entries_of(const toml::table& table) {
  std::vector<StudyEntry> entries;
  for (const auto& [key, node] : table)
    entries.push_back({std::string(key.str()), &node, key.source().begin.line});
  std::stable_sort(entries.begin(), entries.end(), [](const StudyEntry& a, const StudyEntry& b) {
    const auto place = [](const StudyEntry& one) { return one.node->source().begin; };
    return std::pair(place(a).line, place(a).column) < std::pair(place(b).line, place(b).column);
  });
  return entries;
}

class StudyFile {
 public:
  StudyFile(CLI::App& command, SweepArguments& arguments)
      : command_(command), arguments_(arguments) {}

  void apply() {
    const toml::table file = parse();
    if (file.empty()) refuse_file("holds nothing");
    for (const StudyEntry& entry : entries_of(file)) {
      if (entry.key == kSetTable)
        read_axes(entry);
      else if (entry.key == kPointTable)
        read_points(entry);
      else if (entry.key == "model")
        read_model(entry);
      else
        set_option(entry);
    }
  }

 private:
  toml::table parse() const {
    try {
      return toml::parse(read_input_file(arguments_.study_file, "study file"),
                         arguments_.study_file);
    } catch (const toml::parse_error& error) {
      throw UsageError(fmt::format("study file '{}', line {}: {}", arguments_.study_file,
                                   error.source().begin.line, error.description()));
    }
  }

  void read_model(const StudyEntry& entry) {
    arguments_.model = text_of(entry, *entry.node);
    arguments_.lines[entry.key] = entry.line;
  }

  [[noreturn]] void refuse_file(const std::string& what) const {
    throw UsageError(fmt::format("study file '{}' {}", arguments_.study_file, what));
  }
  [[noreturn]] void refuse(const StudyEntry& entry, const std::string& what) const {
    throw UsageError(study_file_place(arguments_.study_file, entry.line, entry.key) + what);
  }

  std::string text_of(const StudyEntry& entry, const toml::node& node) const {
    if (const auto* text = node.as_string()) return text->get();
    if (const auto* whole = node.as_integer()) return std::to_string(whole->get());
    if (const auto* real = node.as_floating_point()) return fmt::format("{}", real->get());
    if (const auto* yes = node.as_boolean()) return yes->get() ? "true" : "false";
    refuse(entry, "a text in quotes, a number, true or false is expected");
  }

  std::vector<std::string> texts_of(const StudyEntry& entry) const {
    const toml::array* const list = entry.node->as_array();
    if (list == nullptr) return {text_of(entry, *entry.node)};
    if (list->empty()) refuse(entry, "the list is empty");
    std::vector<std::string> texts;
    for (const toml::node& one : *list) texts.push_back(text_of(entry, one));
    return texts;
  }

  /// A text may be a range; a list's elements are taken as they are.
  void read_axes(const StudyEntry& set) {
    const toml::table* const table = set.node->as_table();
    if (table == nullptr || table->empty())
      refuse(set, "parameters go into a table [set], one a line: NAME = VALUES");
    for (const StudyEntry& entry : entries_of(*table)) {
      arguments_.lines["set." + entry.key] = entry.line;
      Axis axis{entry.key, {}};
      if (entry.node->is_string()) {
        try {
          axis.values = study::expand_values(text_of(entry, *entry.node));
        } catch (const UsageError& error) {
          refuse(entry, error.what());
        }
      } else {
        axis.values = texts_of(entry);
        refuse_repeated(entry, axis.values);
      }
      arguments_.file_axes.push_back(std::move(axis));
    }
  }

  void refuse_repeated(const StudyEntry& entry, const std::vector<std::string>& values) const {
    for (std::size_t i = 0; i < values.size(); ++i)
      if (std::find(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(i), values[i]) !=
          values.begin() + static_cast<std::ptrdiff_t>(i))
        refuse(entry, fmt::format("the value '{}' is there twice", values[i]));
  }

  void read_points(const StudyEntry& list) {
    const toml::array* const all = list.node->as_array();
    if (all == nullptr || !all->is_homogeneous<toml::table>())
      refuse(list, "points are tables [[point]], with one value of each parameter that varies");
    for (const toml::node& one : *all) {
      const StudyEntry head{kPointTable, &one, one.source().begin.line};
      Settings point;
      for (const StudyEntry& entry : entries_of(*one.as_table())) {
        point.emplace_back(entry.key, text_of(entry, *entry.node));
      }
      arguments_.points.push_back(in_order_of_first(head, std::move(point)));
      arguments_.point_lines.push_back(head.line);
    }
  }

  /// The settings of a point in the order of the first point, which defines the table's columns:
  /// every point must have a value for each.
  Settings in_order_of_first(const StudyEntry& head, Settings point) const {
    if (point.empty()) refuse(head, "a point sets at least one parameter");
    if (arguments_.points.empty()) return point;
    const Settings& first = arguments_.points.front();
    Settings ordered;
    for (const auto& [name, unused] : first) {
      const auto own = std::find_if(point.begin(), point.end(),
                                    [&](const auto& one) { return one.first == name; });
      if (own == point.end())
        refuse(head, fmt::format("it does not set '{}', as the first point does", name));
      ordered.push_back(*own);
    }
    for (const auto& [name, unused] : point) {
      if (std::none_of(first.begin(), first.end(),
                       [&](const auto& one) { return one.first == name; }))
        refuse(head, fmt::format("it sets '{}', which the first point does not", name));
    }
    return ordered;
  }

  std::vector<std::string> keys() const {
    std::vector<std::string> names{"model", kSetTable, kPointTable};
    for (const CLI::Option* option : command_.get_options())
      for (const std::string& name : option->get_lnames())
        if (name != "help" && name != "set") names.push_back(name);
    return names;
  }

  void set_option(const StudyEntry& entry) {
    const std::vector<std::string> names = keys();
    if (std::find(names.begin() + 3, names.end(), entry.key) == names.end()) {
      refuse(entry, fmt::format("there is no such key{} (keys: {})", near_matches(entry.key, names),
                                fmt::join(names, ", ")));
    }
    const std::vector<std::string> values = texts_of(entry);
    CLI::Option* const option = command_.get_option("--" + entry.key);
    if (option->count() > 0) return;  // the command line wins
    arguments_.lines[entry.key] = entry.line;
    try {
      const bool is_repeatable = entry.key == "until-precision";
      if (is_repeatable)
        for (const std::string& value : values) option->add_result(value);
      else
        option->add_result(fmt::format("{}", fmt::join(values, ",")));
      option->run_callback();
    } catch (const std::exception&) {
      refuse(entry, fmt::format("it cannot be '{}'", fmt::join(values, ",")));
    }
  }

  CLI::App& command_;
  SweepArguments& arguments_;
};

}  // namespace

void apply_study_file(CLI::App& command, SweepArguments& arguments) {
  StudyFile(command, arguments).apply();
}

std::string study_file_place(const std::string& path, std::size_t line, std::string_view key) {
  return fmt::format("study file '{}', line {}, '{}': ", path, line, key);
}

}  // namespace orrery::cli
