// SPDX-License-Identifier: Apache-2.0
#include "cli/describe_json.h"

#include <nlohmann/json.hpp>

#include "core/model_registry.h"
#include "output/report.h"
#include "run/options/model_checks.h"

namespace orrery::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string text_of(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

template <class Infos>
Json summaries_json(const Infos& infos) {
  Json json = Json::object();
  for (const auto& info : infos) json[info.name] = {{"summary", info.summary}};
  return json;
}

/// The options that the engine honours; nullptr: all options.
Json options_json(const EngineInfo* engine = nullptr) {
  Json json = Json::object();
  for (const OptionBase* option : all_options()) {
    if (engine != nullptr && !engine->honours(*option)) continue;
    json[option->name()] = {{"type", option->declaration().type},
                            {"default", option->takes_value() ? option->default_text() : ""},
                            {"help", option->help()}};
  }
  return json;
}

Json parameters_json(const Model& model) {
  Json json = Json::object();
  for (const ParameterBase* p : model.parameters()) {
    json[p->name()] = {
        {"type", p->type_text()}, {"default", typed_json(p->type_text(), p->default_text())},
        {"unit", p->unit()},      {"range", p->range_text()},
        {"help", p->help()},      {"fork_may_change", p->read_at_use()}};
  }
  return json;
}

Json columns_json(const Table& table) {
  Json json = Json::object();
  json["time_ticks"] = {{"type", "integer"}, {"unit", "ticks"}};
  json["lp"] = {{"type", "integer"}, {"unit", ""}};
  for (const Column& c : table.columns()) {
    json[c.name] = {{"type", name_of(c.type)}, {"unit", c.unit}};
  }
  return json;
}

}  // namespace

std::string list_json() {
  return text_of({{"orrery", {{"version", ORRERY_VERSION}}},
                  {"models", summaries_json(models())},
                  {"engines", summaries_json(engines())},
                  {"options", options_json()}});
}

std::string engine_json(const EngineInfo& engine) {
  return text_of(
      {{"engine", engine.name}, {"summary", engine.summary}, {"options", options_json(&engine)}});
}

std::string model_json(const Model& model, const std::string& name, const std::string& summary) {
  Json metrics = Json::object(), tables = Json::object(), captures = Json::object();
  for (const Metric* m : model.metrics())
    metrics[m->name()] = {{"unit", m->unit()}, {"help", m->help()}};
  for (const Table* t : model.tables())
    tables[t->name()] = {{"help", t->help()}, {"columns", columns_json(*t)}};
  for (const Capture* one : model.captures())
    captures[one->name()] = {{"link_type", static_cast<unsigned>(one->link())},
                             {"help", one->help()}};
  return text_of(
      {{"model", name},
       {"summary", summary},
       {"tick_seconds", call_model("tick_seconds()", [&] { return model.tick_seconds(); })},
       {"parameters", parameters_json(model)},
       {"metrics", std::move(metrics)},
       {"tables", std::move(tables)},
       {"captures", std::move(captures)}});
}

}  // namespace orrery::cli
