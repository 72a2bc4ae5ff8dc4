// SPDX-License-Identifier: Apache-2.0
#include "cli/study_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <toml++/toml.h>
#include <algorithm>
#include <sstream>
#include <vector>

#include "cli/config_syntax.h"
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

bool is_toml(const std::string& text) {
  try {
    return static_cast<void>(toml::parse(text)), true;
  } catch (const toml::parse_error&) {
    return false;
  }
}

/// A value with quotes, if it is none of TOML: a word, or a list of words in brackets.
std::string with_quotes(std::string_view value) {
  value = trimmed(value);
  if (is_toml(fmt::format("it = {}", value))) return std::string(value);
  if (value.starts_with('[') && value.ends_with(']')) {
    std::string list;
    std::istringstream words{std::string(value.substr(1, value.size() - 2))};
    for (std::string word; std::getline(words, word, ',');) list += with_quotes(word) + ", ";
    return fmt::format("[{}]", list);
  }
  const bool is_word = !value.empty() && value.find_first_of("\"'[]{}") == std::string_view::npos;
  return is_word ? fmt::format("\"{}\"", value) : std::string(value);
}

/// TOML needs quotes around words, as in 'until = "1h"'; files have the rule of config files, which
/// need none.
std::string with_quoted_words(const std::string& text) {
  std::istringstream lines(text);
  std::string quoted;
  for (std::string line; std::getline(lines, line); quoted += line + '\n') {
    const std::size_t equals = line.find('='), comment = std::min(line.find('#'), line.size());
    if (equals < comment && !is_toml(line))
      line = line.substr(0, equals + 1) +
             with_quotes(std::string_view(line).substr(equals + 1, comment - equals - 1)) +
             line.substr(comment);
  }
  return quoted;
}

class StudyFile {
 public:
  StudyFile(OptionTable& options, const std::string& path, SweepRequest& request)
      : options_(options), path_(path), request_(request) {
    request.places.file = fmt::format("study file '{}'", path);
  }

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
    const std::string text = read_input_file(path_, "study file");
    try {
      return toml::parse(is_toml(text) ? text : with_quoted_words(text), path_);
    } catch (const toml::parse_error& error) {
      throw UsageError(fmt::format("{}, line {}: {}", request_.places.file,
                                   error.source().begin.line, error.description()));
    }
  }

  void read_model(const StudyEntry& entry) {
    request_.model = text_of(entry, *entry.node);
    request_.places.lines[entry.key] = entry.line;
  }

  [[noreturn]] void refuse_file(const std::string& what) const {
    throw UsageError(request_.places.file + " " + what);
  }
  [[noreturn]] void refuse(const StudyEntry& entry, const std::string& what) const {
    throw UsageError(file_place(request_.places.file, entry.line, entry.key) + what);
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
      request_.places.lines["set." + entry.key] = entry.line;
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
      request_.file_axes.push_back(std::move(axis));
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
      request_.points.push_back(in_order_of_first(head, std::move(point)));
      request_.point_lines.push_back(head.line);
    }
  }

  /// The settings of a point in the order of the first point, which defines the table's columns:
  /// every point must have a value for each.
  Settings in_order_of_first(const StudyEntry& head, Settings point) const {
    if (point.empty()) refuse(head, "a point sets at least one parameter");
    if (request_.points.empty()) return point;
    const Settings& first = request_.points.front();
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

  /// A list of one seed, which is not a number of seeds.
  static bool is_list_of_one_number(const toml::node& node) {
    const toml::array* const list = node.as_array();
    return list != nullptr && list->size() == 1 && list->front().is_integer();
  }

  void set_option(const StudyEntry& entry) {
    std::vector<std::string> values = texts_of(entry);
    if (entry.key == "seeds" && is_list_of_one_number(*entry.node))
      values.front() = fmt::format("{0}..{0}", values.front());
    options_.set_by_file(request_.places, entry.key, entry.line, values,
                         {"model", kSetTable, kPointTable});
  }

  OptionTable& options_;
  const std::string& path_;
  SweepRequest& request_;
};

}  // namespace

void apply_study_file(OptionTable& options, const std::string& path, SweepRequest& request) {
  StudyFile(options, path, request).apply();
}

}  // namespace orrery::cli
