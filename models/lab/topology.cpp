// SPDX-License-Identifier: Apache-2.0
#include "topology.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <utility>

#include <toml++/toml.h>

#include "orrery/error.h"

namespace orrery::lab {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};
constexpr Unit kTimeUnits[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"min", 60e9}};
constexpr Unit kRateUnits[] = {{"bit/s", 1}, {"kbit/s", 1e3}, {"Mbit/s", 1e6}, {"Gbit/s", 1e9}};
constexpr double kLargest = 9e18;

/// "10ms", "1.5 Mbit/s".
template <std::size_t kCount>
std::optional<std::int64_t> parse(std::string_view text, const Unit (&units)[kCount]) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  unit.remove_prefix(std::min(unit.find_first_not_of(' '), unit.size()));
  for (const Unit& one : units)
    if (one.name == unit && number >= 0 && number * one.factor < kLargest)
      return std::llround(number * one.factor);
  return std::nullopt;
}

class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path) {}

  Topology read() {
    const toml::table file = parse_file();
    allow(file, {"host", "link"});
    for_each(file, "host", [this](const toml::table& table) { add_host(table); });
    if (topology_.hosts.empty()) fail(file, "there is no [[host]]");
    for_each(file, "link", [this](const toml::table& table) { add_link(table); });
    return std::move(topology_);
  }

 private:
  toml::table parse_file() const {
    try {
      return toml::parse_file(path_);
    } catch (const toml::parse_error& error) {
      const auto line = error.source().begin.line;
      throw UsageError(path_ + (line > 0 ? ":" + std::to_string(line) : "") + ": " +
                       std::string(error.description()));
    }
  }
  [[noreturn]] void fail(const toml::node& at, const std::string& what) const {
    throw UsageError(path_ + ":" + std::to_string(at.source().begin.line) + ": " + what);
  }
  void allow(const toml::table& table, std::initializer_list<std::string_view> keys) const {
    for (const auto& [key, value] : table) {
      if (std::find(keys.begin(), keys.end(), key.str()) != keys.end()) continue;
      std::string known;
      for (const std::string_view one : keys)
        known += (known.empty() ? "" : ", ") + std::string(one);
      fail(value, "there is no key '" + std::string(key.str()) + "' here; there are " + known);
    }
  }
  template <class Action>
  void for_each(const toml::table& table, std::string_view key, Action&& action) const {
    const toml::node* const found = table.get(key);
    if (found == nullptr) return;
    const toml::array* const all = found->as_array();
    if (all == nullptr || !all->is_homogeneous<toml::table>())
      fail(*found, "'" + std::string(key) + "' is written [[" + std::string(key) + "]]");
    for (const toml::node& one : *all) action(*one.as_table());
  }
  std::string text(const toml::table& table, std::string_view key) const {
    const toml::node* const found = table.get(key);
    if (found == nullptr) fail(table, "'" + std::string(key) + "' is missing");
    if (!found->is_string()) fail(*found, "'" + std::string(key) + "' is a text in quotes");
    return **found->as_string();
  }
  template <std::size_t kCount>
  std::int64_t quantity(const toml::table& table, std::string_view key, const Unit (&units)[kCount],
                        std::int64_t otherwise) const {
    const toml::node* const found = table.get(key);
    if (found == nullptr) return otherwise;
    const auto value = parse(text(table, key), units);
    if (value) return *value;
    std::string names;
    for (const Unit& one : units) names += (names.empty() ? "" : ", ") + std::string(one.name);
    fail(*found, "'" + std::string(key) + "' is a number with a unit, \"10 " +
                     std::string(units[kCount - 2].name) + "\"; there are " + names);
  }
  std::vector<std::string> texts(const toml::table& table, std::string_view key) const {
    const toml::node* const found = table.get(key);
    std::vector<std::string> all;
    if (found == nullptr) return all;
    const toml::array* const list = found->as_array();
    if (list == nullptr || (!list->empty() && !list->is_homogeneous<std::string>()))
      fail(*found, "'" + std::string(key) + "' is a list of texts");
    for (const toml::node& one : *list) all.push_back(**one.as_string());
    return all;
  }

  void add_host(const toml::table& table) {
    allow(table, {"name", "memory", "system_call", "setup", "program"});
    Host host;
    host.name = text(table, "name");
    constexpr std::string_view kLetters =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-";
    if (host.name.empty() || host.name.find_first_not_of(kLetters) != std::string::npos)
      fail(table, "the name '" + host.name + "' has something else than letters, digits and '-'");
    if (find(host.name) != nullptr) fail(table, "there are two hosts '" + host.name + "'");
    if (const toml::node* const memory = table.get("memory")) {
      constexpr std::int64_t kLeast = 16, kMost = 4096;
      const auto megabytes = memory->value<std::int64_t>();
      if (!megabytes || *megabytes < kLeast || *megabytes > kMost)
        fail(*memory, "'memory' is a number of MiB from 16 to 4096");
      host.memory_megabytes = static_cast<unsigned>(*megabytes);
    }
    host.system_call_ns = quantity(table, "system_call", kTimeUnits, 0);
    host.setup = texts(table, "setup");
    for_each(table, "program", [&](const toml::table& program) {
      allow(program, {"at", "command"});
      host.programs.push_back({quantity(program, "at", kTimeUnits, 0), text(program, "command")});
    });
    topology_.hosts.push_back(std::move(host));
  }

  void add_link(const toml::table& table) {
    allow(table, {"between", "addresses", "delay", "rate"});
    const std::vector<std::string> names = texts(table, "between"),
                                   addresses = texts(table, "addresses");
    if (names.size() != 2 || names[0] == names[1])
      fail(table, "'between' has the names of two hosts");
    if (!addresses.empty() && addresses.size() != 2)
      fail(table, "'addresses' has one for each end, \"10.0.0.1/24\"");
    const std::int64_t delay = quantity(table, "delay", kTimeUnits, 0);
    if (delay < 2) fail(table, "a link needs a 'delay', of 2 ns or more");
    const auto rate = static_cast<std::uint64_t>(quantity(table, "rate", kRateUnits, 0));
    Host* ends[2];
    unsigned devices[2];
    for (const std::size_t i : {0, 1}) {
      ends[i] = find(names[i]);
      if (ends[i] == nullptr) fail(table, "there is no host '" + names[i] + "'");
      devices[i] = static_cast<unsigned>(ends[i]->devices.size());
    }
    for (const std::size_t i : {0, 1}) {
      const auto far = static_cast<std::uint32_t>(ends[1 - i] - topology_.hosts.data());
      ends[i]->devices.push_back(
          {addresses.empty() ? "" : addresses[i], {far, devices[1 - i], delay, rate}});
    }
  }

  Host* find(std::string_view name) {
    for (Host& one : topology_.hosts)
      if (one.name == name) return &one;
    return nullptr;
  }

  const std::string& path_;
  Topology topology_;
};

}  // namespace

Topology read_topology(const std::string& path) {
  return Reader(path).read();
}

}  // namespace orrery::lab
