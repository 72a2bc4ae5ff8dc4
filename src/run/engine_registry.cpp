// SPDX-License-Identifier: Apache-2.0
//
// Engines by name. Registration happens in static initialisers, so the table is function-local.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/model_registry.h"
#include "orrery/error.h"
#include "run/engine.h"

namespace orrery {
namespace {

std::vector<EngineInfo>& engine_table() {
  static std::vector<EngineInfo> table;
  return table;
}

}  // namespace

EngineRegistration::EngineRegistration(std::string name, std::string summary,
                                       std::unique_ptr<Engine> (*make)(), EngineUse use) {
  auto& table = engine_table();
  table.push_back({std::move(name), std::move(summary), make, use});
  std::sort(table.begin(), table.end(),
            [](const EngineInfo& a, const EngineInfo& b) { return a.name < b.name; });
}

const std::vector<EngineInfo>& engines() {
  return engine_table();
}

const EngineInfo& find_engine(std::string_view name) {
  std::vector<std::string> names;
  for (const EngineInfo& info : engine_table()) {
    if (info.name == name) return info;
    names.push_back(info.name);
  }
  throw UsageError(fmt::format("there is no engine '{}'{} (engines: {})", name,
                               near_matches(name, names), fmt::join(names, ", ")));
}

}  // namespace orrery
