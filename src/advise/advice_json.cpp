// SPDX-License-Identifier: Apache-2.0
//
// Advice as JSON: field names do not change (docs/advise.md), and its tables have the same data.
#include <algorithm>

#include "advise/advice.h"

namespace orrery::advise {
namespace {

using Json = nlohmann::ordered_json;
using study::Cell;
using study::PlainTable;

const char* name_of(Basis basis) {
  switch (basis) {
    case Basis::counted:
      return "counted";
    case Basis::settled:
      return "settled";
    case Basis::unsettled:
      return "unsettled";
    default:
      return "pilot";
  }
}

const char* name_of(Begin begin) {
  return begin == Begin::snapshot ? "snapshot" : begin == Begin::start ? "start" : "whole";
}

Json json_of(const Likely& likely) {
  if (!likely.half_width) return {{"value", likely.value}, {"interval", nullptr}};
  return {{"value", likely.value},
          {"interval",
           {std::max(0.0, likely.value - *likely.half_width), likely.value + *likely.half_width}}};
}

Json json_of(const Configuration& one) {
  return {{"engine", one.engine},   {"workers", one.workers}, {"ranks", one.ranks},
          {"options", one.options}, {"name", one.name()},     {"words", one.words()}};
}

Json json_of(const Measured& one, const Findings& found) {
  Json json = {{"configuration", json_of(one.configuration)},
               {"beyond_cores", one.beyond_cores},
               {"runs", Json::array()}};
  for (const Sample& sample : one.samples)
    json["runs"].push_back({{"events", sample.events}, {"loop_seconds", sample.seconds}});
  if (!one.refusal.empty()) json["refusal"] = one.refusal;
  const auto fit = one.fit();
  if (!fit) return json;
  json["fixed_seconds"] = fit->fixed;
  json["seconds_per_event"] = fit->per_event;
  json["efficiency"] = one.efficiency();
  json["peak_rss_bytes"] = one.memory_bytes;
  json["whole_run_seconds"] = json_of(time_of_run(one, found.forecast.events, found.start_seconds));
  return json;
}

Json json_of(const Offer& one) {
  return {{"machine", one.machine.name},
          {"cores", one.machine.cores},
          {"speed", one.machine.speed},
          {"price_per_hour", one.machine.price_per_hour},
          {"configuration", json_of(one.configuration)},
          {"seconds", json_of(one.seconds)},
          {"price", one.price},
          {"extrapolated", one.is_extrapolated},
          {"efficient", one.is_efficient}};
}

Json json_of(const Forecast& one) {
  return {{"basis", name_of(one.basis)}, {"whole_run", json_of(one.events)},
          {"counted", one.counted},      {"counted_to_seconds", one.counted_to},
          {"until_seconds", one.until},  {"text", one.text()}};
}

Json recommendation(const Advice& advice) {
  const Findings& found = advice.findings;
  Json json = {{"command", advice.command()}, {"configuration", json_of(advice.configuration())}};
  if (advice.recommended) {
    const Offer& offer = advice.offers.offers[*advice.recommended];
    json["machine"] = offer.machine.name;
    json["seconds"] = json_of(offer.seconds);
    json["price"] = offer.price;
  } else {
    json["machine"] = nullptr;
    json["seconds"] = json_of(
        time_of_run(found.measured[advice.chosen], found.forecast.events, found.start_seconds));
    json["price"] = nullptr;
  }
  return json;
}

Cell half_width(const Likely& likely) {
  return likely.half_width ? Cell(*likely.half_width) : Cell();
}

PlainTable table_of_configurations(const Advice& advice) {
  PlainTable table{"configurations",
                   {{"configuration", "TEXT"},
                    {"engine", "TEXT"},
                    {"workers", "INTEGER"},
                    {"ranks", "INTEGER"},
                    {"runs", "INTEGER"},
                    {"fixed_seconds", "REAL"},
                    {"seconds_per_event", "REAL"},
                    {"efficiency", "REAL"},
                    {"whole_run_seconds", "REAL"},
                    {"half_width", "REAL"},
                    {"beyond_cores", "INTEGER"}},
                   {}};
  const Findings& found = advice.findings;
  for (const Measured& one : found.measured) {
    const auto fit = one.fit();
    if (!fit) continue;
    const Likely time = time_of_run(one, found.forecast.events, found.start_seconds);
    table.rows.push_back(
        {one.configuration.name(), one.configuration.engine,
         std::int64_t{one.configuration.workers}, std::int64_t{one.configuration.ranks},
         static_cast<std::int64_t>(one.samples.size()), fit->fixed, fit->per_event,
         one.efficiency(), time.value, half_width(time), std::int64_t{one.beyond_cores}});
  }
  return table;
}

PlainTable table_of_machines(const Advice& advice) {
  PlainTable table{"machines",
                   {{"machine", "TEXT"},
                    {"cores", "INTEGER"},
                    {"speed", "REAL"},
                    {"price_per_hour", "REAL"},
                    {"configuration", "TEXT"},
                    {"seconds", "REAL"},
                    {"half_width", "REAL"},
                    {"price", "REAL"},
                    {"extrapolated", "INTEGER"},
                    {"efficient", "INTEGER"}},
                   {}};
  for (const Offer& one : advice.offers.offers)
    table.rows.push_back({one.machine.name, std::int64_t{one.machine.cores}, one.machine.speed,
                          one.machine.price_per_hour, one.configuration.name(), one.seconds.value,
                          half_width(one.seconds), one.price, std::int64_t{one.is_extrapolated},
                          std::int64_t{one.is_efficient}});
  return table;
}

}  // namespace

Json advice_json(const Advice& advice) {
  const Findings& found = advice.findings;
  Json json = {
      {"schema", 1},
      {"orrery", found.scout.at("orrery")},
      {"complete", found.signal == 0},
      {"model", found.scout.at("model")},
      {"host", found.scout.at("host")},
      {"cores", advice.cores},
      {"recommendation", recommendation(advice)},
      {"events", json_of(found.forecast)},
      {"begin", {{"at", name_of(found.begin)}, {"simulated_seconds", found.begin_seconds}}},
      {"start_seconds", found.start_seconds},
      {"confidence", kConfidence},
      {"runs", found.runs},
      {"wall_seconds", found.seconds}};
  json["speed"] = found.speed ? Json(found.speed->factor) : Json();
  json["currency"] = advice.currency;
  json["configurations"] = Json::array();
  for (const Measured& one : found.measured) json["configurations"].push_back(json_of(one, found));
  json["machines"] = Json::array();
  for (const Offer& one : advice.offers.offers) json["machines"].push_back(json_of(one));
  json["guidelines"] = Json::array();
  for (const Guideline& one : advice.guidelines)
    json["guidelines"].push_back({{"name", one.name}, {"text", one.text}});
  json["notes"] = found.notes;
  for (const std::string& note : advice.offers.notes) json["notes"].push_back(note);
  return json;
}

std::vector<PlainTable> advice_tables(const Advice& advice) {
  std::vector<PlainTable> tables{table_of_configurations(advice)};
  if (advice.has_table) tables.push_back(table_of_machines(advice));
  return tables;
}

}  // namespace orrery::advise
