// SPDX-License-Identifier: Apache-2.0
#include "toml_table.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "orrery/error.h"
#include "orrery/input_file.h"

namespace orrery::lab {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};
constexpr std::array kTimeUnits{Unit{"ns", 1}, Unit{"us", 1e3}, Unit{"ms", 1e6}, Unit{"s", 1e9},
                                Unit{"min", 60e9}};
constexpr std::array kRateUnits{Unit{"bit/s", 1}, Unit{"kbit/s", 1e3}, Unit{"Mbit/s", 1e6},
                                Unit{"Gbit/s", 1e9}};
constexpr std::array kFrequencyUnits{Unit{"Hz", 1}, Unit{"kHz", 1e3}, Unit{"MHz", 1e6},
                                     Unit{"GHz", 1e9}};
/// In parts of 10^12.
constexpr std::array kDriftUnits{Unit{"ppm", 1e6}, Unit{"ppb", 1e3}};
constexpr double kLargest = 9e18;

/// A quantity with its sign.
template <class Units>
std::optional<std::int64_t> parse(std::string_view text, const Units& units) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  unit.remove_prefix(std::min(unit.find_first_not_of(' '), unit.size()));
  for (const Unit& one : units)
    if (one.name == unit && std::abs(number * one.factor) < kLargest)
      return std::llround(number * one.factor);
  return std::nullopt;
}

/// Joins names as "a, b, c".
template <class Words, class Name>
std::string list(const Words& words, Name&& name) {
  std::string text;
  for (const auto& one : words) text += (text.empty() ? "" : ", ") + std::string(name(one));
  return text;
}

/// The shortest text that gives the same value.
std::string short_text(double value) {
  std::array<char, 32> buffer;
  const auto done = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return {buffer.data(), done.ptr};
}

std::string quoted(std::string_view key) {
  return "'" + std::string(key) + "'";
}

toml::table parse_file(const std::string& path) {
  try {
    return toml::parse(read_input_file(path), path);
  } catch (const toml::parse_error& error) {
    const auto line = error.source().begin.line;
    throw UsageError(path + (line > 0 ? ":" + std::to_string(line) : "") + ": " +
                     std::string(error.description()));
  }
}

}  // namespace

std::optional<std::int64_t> parse_time(std::string_view text) {
  const auto time = parse(text, kTimeUnits);
  return time && *time >= 0 ? time : std::nullopt;
}

TomlTable::TomlTable(const std::string& path)
    : path_(&path),
      file_(std::make_shared<const toml::table>(parse_file(path))),
      table_(file_.get()) {}

void TomlTable::fail(const toml::node& at, const std::string& what) const {
  throw UsageError(*path_ + ":" + std::to_string(at.source().begin.line) + ": " + what);
}

const toml::node* TomlTable::find(std::string_view key) const {
  const toml::node* const found = table_->get(key);
  const toml::array* const two = side_ && found != nullptr ? found->as_array() : nullptr;
  return two != nullptr && two->size() == 2 ? two->get(*side_) : found;
}

void TomlTable::fail_at(std::string_view key, const std::string& what) const {
  const toml::node* const found = find(key);
  fail(found == nullptr ? *table_ : *found, what);
}

void TomlTable::allow(std::span<const std::string_view> keys) const {
  for (const auto& [key, value] : *table_) {
    if (std::find(keys.begin(), keys.end(), key.str()) != keys.end()) continue;
    if (key.str() == "repeat" && index_) continue;
    fail(value, "there is no key " + quoted(key.str()) + " here; there are " +
                    list(keys, [](std::string_view one) { return one; }));
  }
}

const toml::array* TomlTable::tables(std::string_view key) const {
  const toml::node* const found = find(key);
  if (found == nullptr) return nullptr;
  const toml::array* const all = found->as_array();
  if (all == nullptr || !all->is_homogeneous<toml::table>())
    fail(*found, quoted(key) + " is written [[" + std::string(key) + "]]");
  return all;
}

/// Replaces "{i}", "{i+1}", "{i-1}" in a repeated table.
std::string TomlTable::with_index(const std::string& text) const {
  if (!index_) return text;
  std::string result;
  std::size_t at = 0;
  for (std::size_t brace; (brace = text.find("{i", at)) != std::string::npos;) {
    result += text.substr(at, brace - at);
    const std::size_t end = text.find('}', brace);
    const std::string_view inner(text.data() + brace + 2, std::min(end, text.size()) - brace - 2);
    std::int64_t offset = 0;
    const char* const begin = inner.data() + (inner.starts_with('+') ? 1 : 0);
    const auto [last, error] = std::from_chars(begin, inner.data() + inner.size(), offset);
    const bool is_index = end != std::string::npos &&
                          (inner.empty() || (!inner.starts_with("+-") && error == std::errc() &&
                                             last == inner.data() + inner.size() &&
                                             (inner.front() == '+' || inner.front() == '-')));
    if (is_index) {
      result += std::to_string(*index_ + offset);
      at = end + 1;
    } else {
      result += "{i";
      at = brace + 2;
    }
  }
  return result + text.substr(at);
}

std::string TomlTable::text(std::string_view key) const {
  const toml::node* const found = find(key);
  if (found == nullptr) fail(*table_, quoted(key) + " is missing");
  if (!found->is_string()) fail(*found, quoted(key) + " is a text in quotes");
  return with_index(**found->as_string());
}

std::string TomlTable::text(std::string_view key, const std::string& otherwise) const {
  return has(key) ? text(key) : otherwise;
}

std::vector<std::string> TomlTable::texts(std::string_view key) const {
  const toml::node* const found = find(key);
  std::vector<std::string> all;
  if (found == nullptr) return all;
  const toml::array* const list = found->as_array();
  if (list == nullptr || (!list->empty() && !list->is_homogeneous<std::string>()))
    fail(*found, quoted(key) + " is a list of texts");
  for (const toml::node& one : *list) all.push_back(with_index(**one.as_string()));
  return all;
}

std::map<std::string, std::string> TomlTable::pairs(std::string_view key) const {
  const toml::node* const found = find(key);
  std::map<std::string, std::string> all;
  if (found == nullptr) return all;
  const toml::table* const table = found->as_table();
  if (table == nullptr || (!table->empty() && !table->is_homogeneous<std::string>()))
    fail(*found, quoted(key) + " is a table of texts, { \"one\" = \"other\" }");
  for (const auto& [name, value] : *table)
    all.emplace(with_index(std::string(name.str())), with_index(**value.as_string()));
  return all;
}

bool TomlTable::yes_or_no(std::string_view key, bool otherwise) const {
  const toml::node* const found = find(key);
  if (found == nullptr) return otherwise;
  if (!found->is_boolean()) fail(*found, quoted(key) + " is true or false");
  return **found->as_boolean();
}

std::int64_t TomlTable::integer(std::string_view key, std::int64_t least, std::int64_t most,
                                std::int64_t otherwise) const {
  const toml::node* const found = find(key);
  if (found == nullptr) return otherwise;
  const std::int64_t value = found->is_integer() ? **found->as_integer() : least - 1;
  if (value < least || value > most)
    fail(*found, quoted(key) + " is a whole number from " + std::to_string(least) + " to " +
                     std::to_string(most));
  return value;
}

double TomlTable::real(std::string_view key, double least, double most, double otherwise) const {
  const toml::node* const found = find(key);
  if (found == nullptr) return otherwise;
  const double value = found->value<double>().value_or(least - 1);
  if (!(value >= least && value <= most))
    fail(*found,
         quoted(key) + " is a number from " + short_text(least) + " to " + short_text(most));
  return value;
}

std::vector<double> TomlTable::reals(std::string_view key) const {
  const toml::node* const found = find(key);
  std::vector<double> all;
  if (found == nullptr) return all;
  const toml::array* const list = found->as_array();
  if (list == nullptr) fail(*found, quoted(key) + " is a list of numbers");
  for (const toml::node& one : *list) {
    const auto value = one.value<double>();
    if (!value) fail(one, quoted(key) + " is a list of numbers");
    all.push_back(*value);
  }
  return all;
}

double TomlTable::probability(std::string_view key, double otherwise) const {
  return real(key, 0, 1, otherwise);
}

template <class Units>
std::int64_t TomlTable::quantity(std::string_view key, const Units& units, Sign sign,
                                 std::int64_t otherwise) const {
  if (!has(key)) return otherwise;
  const auto value = parse(text(key), units);
  if (value && (*value >= 0 || sign == Sign::any)) return *value;
  const std::string minus = sign == Sign::any ? "-" : "";
  const std::string_view unit = units[units.size() - 2].name;
  fail_at(key, quoted(key) + " is a number with a unit, \"" + minus + "10 " + std::string(unit) +
                   "\"; there are " + list(units, [](const Unit& one) { return one.name; }));
}

std::int64_t TomlTable::time(std::string_view key, std::int64_t otherwise) const {
  return quantity(key, kTimeUnits, Sign::none, otherwise);
}

std::int64_t TomlTable::signed_time(std::string_view key) const {
  return quantity(key, kTimeUnits, Sign::any, 0);
}

std::int64_t TomlTable::drift(std::string_view key) const {
  return quantity(key, kDriftUnits, Sign::any, 0);
}

std::int64_t TomlTable::frequency(std::string_view key) const {
  return quantity(key, kFrequencyUnits, Sign::none, 0);
}

std::uint64_t TomlTable::rate(std::string_view key, std::uint64_t otherwise) const {
  return static_cast<std::uint64_t>(
      quantity(key, kRateUnits, Sign::none, static_cast<std::int64_t>(otherwise)));
}

std::optional<TomlTable> TomlTable::table(std::string_view key) const {
  const toml::node* const found = find(key);
  if (found == nullptr) return std::nullopt;
  if (!found->is_table()) fail(*found, quoted(key) + " is a table, { key = \"value\" }");
  return TomlTable(*path_, *found->as_table(), index_);
}

std::size_t TomlTable::choice(std::string_view key, std::span<const std::string_view> words) const {
  if (!has(key)) return 0;
  const auto found = std::find(words.begin(), words.end(), text(key));
  if (found == words.end())
    fail_at(key,
            quoted(key) + " is one of " + list(words, [](std::string_view one) { return one; }));
  return static_cast<std::size_t>(found - words.begin());
}

std::filesystem::path TomlTable::existing_file(std::string_view key, const std::string& name,
                                               std::string_view advice) const {
  const std::filesystem::path path = std::filesystem::path(*path_).parent_path() / name;
  if (!std::filesystem::exists(path))
    fail_at(key, "there is no '" + path.string() + "'" + std::string(advice));
  return std::filesystem::absolute(path);
}

}  // namespace orrery::lab
