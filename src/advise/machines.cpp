// SPDX-License-Identifier: Apache-2.0
#include "advise/machines.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <toml++/toml.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "core/model_registry.h"
#include "orrery/error.h"
#include "orrery/input_file.h"

namespace orrery::advise {
namespace {

constexpr const char *kMachine = "machine", *kCurrency = "currency";
constexpr std::array kKeys = {"name", "cores", "speed", "price_per_hour", "memory_gib"};
constexpr std::int64_t kMostCores = 4096;
constexpr double kGibibyte = 1024.0 * 1024 * 1024, kSecondsPerHour = 3600;

class TableFile {
 public:
  explicit TableFile(const std::string& path) : path_(path) {}

  MachineTable read() {
    const toml::table file = parse();
    MachineTable table;
    for (const auto& [key, node] : file) {
      if (key == kCurrency)
        table.currency = text_of(kCurrency, node);
      else if (key != kMachine)
        refuse(key.source().begin.line,
               fmt::format("'{}' is nothing of a table of machines; it has [[machine]] for each "
                           "machine, and a currency",
                           key.str()));
    }
    const toml::node* const list = file.get(kMachine);
    if (list == nullptr)
      throw UsageError(
          fmt::format("table of machines '{}' has no machine; write [[machine]] and "
                      "below it name, cores, speed and price_per_hour",
                      path_));
    read_list(*list, table);
    return table;
  }

 private:
  [[noreturn]] void refuse(std::size_t line, const std::string& what) const {
    throw UsageError(fmt::format("table of machines '{}', line {}: {}", path_, line, what));
  }
  static std::size_t line_of(const toml::node& node) { return node.source().begin.line; }

  toml::table parse() const {
    try {
      return toml::parse(read_input_file(path_, "table of machines"), path_);
    } catch (const toml::parse_error& error) {
      refuse(error.source().begin.line, std::string(error.description()));
    }
  }

  void read_list(const toml::node& list, MachineTable& table) const {
    const toml::array* const machines = list.as_array();
    if (machines == nullptr)
      refuse(line_of(list), "a machine begins with [[machine]], in two pairs of brackets");
    for (const toml::node& one : *machines) {
      const toml::table* const entries = one.as_table();
      if (entries == nullptr)
        refuse(line_of(one), "a machine begins with [[machine]], and not with a list of values");
      const Machine machine = read_machine(*entries);
      for (const Machine& other : table.machines)
        if (other.name == machine.name)
          refuse(line_of(*entries->get("name")),
                 fmt::format("there are two machines '{}'; give one another name", machine.name));
      table.machines.push_back(machine);
    }
  }

  Machine read_machine(const toml::table& entries) const {
    refuse_unknown(entries);
    Machine machine;
    machine.name = text_of("name", entry(entries, "name"));
    if (machine.name.empty()) refuse(line_of(*entries.get("name")), "the name is empty");
    machine.cores = cores_of(entry(entries, "cores"));
    machine.speed = number_of("speed", entry(entries, "speed"), true);
    machine.price_per_hour = number_of("price_per_hour", entry(entries, "price_per_hour"), false);
    if (const toml::node* const memory = entries.get("memory_gib"))
      machine.memory = number_of("memory_gib", *memory, true) * kGibibyte;
    return machine;
  }

  void refuse_unknown(const toml::table& entries) const {
    for (const auto& [key, node] : entries) {
      const std::string name(key.str());
      if (std::find(kKeys.begin(), kKeys.end(), name) != kKeys.end()) continue;
      refuse(key.source().begin.line,
             fmt::format("a machine has no '{}'{} (it has {})", name,
                         near_matches(name, {kKeys.begin(), kKeys.end()}), fmt::join(kKeys, ", ")));
    }
  }

  const toml::node& entry(const toml::table& entries, const char* key) const {
    const toml::node* const found = entries.get(key);
    if (found == nullptr)
      refuse(line_of(entries), fmt::format("the machine that begins here has no {}", key));
    return *found;
  }

  std::string text_of(const char* key, const toml::node& node) const {
    if (const auto* text = node.as_string()) return text->get();
    refuse(line_of(node), fmt::format("{} is a text, in quotes", key));
  }

  unsigned cores_of(const toml::node& node) const {
    const auto* whole = node.as_integer();
    if (whole == nullptr || whole->get() < 1 || whole->get() > kMostCores)
      refuse(line_of(node), fmt::format("cores is a whole number from 1 to {}", kMostCores));
    return static_cast<unsigned>(whole->get());
  }

  double number_of(const char* key, const toml::node& node, bool above_zero) const {
    const auto number = node.value<double>();
    const bool is_number =
        number && (node.is_integer() || node.is_floating_point()) && std::isfinite(*number);
    if (!is_number || *number < 0 || (above_zero && *number == 0))
      refuse(line_of(node), fmt::format("{} is a number {}, without quotes and without a unit", key,
                                        above_zero ? "above 0" : "from 0 on"));
    return *number;
  }

  const std::string& path_;
};

}  // namespace

MachineTable read_machines(const std::string& path) {
  return TableFile(path).read();
}

double price_of(const Machine& machine, double seconds) {
  return machine.price_per_hour * std::ceil(seconds) / kSecondsPerHour;
}

}  // namespace orrery::advise
