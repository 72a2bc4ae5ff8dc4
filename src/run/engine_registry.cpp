// SPDX-License-Identifier: Apache-2.0
//
// Engines by name. Registration happens in static initialisers, so the table is function-local.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/model_registry.h"
#include "orrery/error.h"
#include "run/engine.h"
#include "run/options/retired_option.h"

namespace orrery {
namespace {

std::vector<EngineInfo>& engine_table() {
  static std::vector<EngineInfo> table;
  return table;
}

}  // namespace

EngineRegistration::EngineRegistration(std::string name, std::string summary,
                                       std::unique_ptr<Engine> (*make)(), OptionList (*options)(),
                                       EngineUse use) {
  auto& table = engine_table();
  table.push_back({std::move(name), std::move(summary), make, options, use});
  std::sort(table.begin(), table.end(),
            [](const EngineInfo& a, const EngineInfo& b) { return a.name < b.name; });
}

bool EngineInfo::honours(const OptionBase& option) const {
  const OptionList own = options();
  return option.declaration().universal || std::find(own.begin(), own.end(), &option) != own.end();
}

OptionList unused_options(const EngineInfo& engine, const RunOptions& options) {
  OptionList unused;
  for (const OptionBase* option : all_options())
    if (option->asked(options) && !engine.honours(*option)) unused.push_back(option);
  return unused;
}

std::string refusal_sentence(const EngineInfo& engine, const std::string& why) {
  return fmt::format("engine {} cannot run this model: {}", engine.name, why);
}

std::string note_unused_options(const EngineInfo& engine, const RunOptions& options) {
  const OptionList unused = unused_options(engine, options);
  if (unused.empty()) return "";
  std::string note = fmt::format("engine {} does not use {}", engine.name, flags_text(unused));
  for (const OptionBase* option : unused)
    if (const RetiredOption* retired = as_retired(option)) note += "; " + retired->successor();
  if (engine.use != EngineUse::diagnosis) return note;
  throw UsageError(fmt::format("{}; leave {} away", note, unused.size() == 1 ? "it" : "them"));
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
