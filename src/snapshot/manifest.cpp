// SPDX-License-Identifier: Apache-2.0
#include "snapshot/manifest.h"

#include <fmt/format.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>

#include "core/duration_text.h"
#include "core/modules.h"
#include "memory/region.h"
#include "orrery/error.h"

namespace orrery::snapshot {
namespace {

using Json = nlohmann::json;

/// For 64-bit values that are no counts: other tools read JSON's numbers as floating point.
std::string hex(std::uint64_t value) {
  return fmt::format("{:016x}", value);
}
std::uint64_t from_hex(const Json& text) {
  const auto digits = text.get<std::string>();
  std::uint64_t value = 0;
  const char* const end = digits.data() + digits.size();
  if (std::from_chars(digits.data(), end, value, 16).ptr != end) throw UsageError("a number");
  return value;
}

Json ground_json(const Ground& ground) {
  return {{"program", ground.program},
          {"model_object", ground.model_object},
          {"region_base", hex(ground.region_base)},
          {"region_bytes", ground.region_bytes},
          {"page_bytes", ground.page_bytes}};
}
Ground ground_of(const Json& json) {
  return {json.at("program"), json.at("model_object"), from_hex(json.at("region_base")),
          json.at("region_bytes"), json.at("page_bytes")};
}

Json key_json(const Key& key) {
  return {{"ticks", key.time().ticks()},
          {"phase", key.phase()},
          {"microstep", key.microstep()},
          {"sender", key.sender()},
          {"sequence", key.sequence()}};
}
Key key_of(const Json& json) {
  const std::uint32_t step =
      Key::first_step_of(json.value("phase", 0u)) + json.at("microstep").get<std::uint32_t>();
  return Key(Time::from_ticks(json.at("ticks")), step, json.at("sender"), json.at("sequence"));
}

Json references_json(const std::vector<Reference>& references) {
  Json json = Json::array();
  for (const Reference& one : references)
    json.push_back({{"path", one.path},
                    {"build_id", one.build_id},
                    {"base", hex(one.base)},
                    {"words", one.words}});
  return json;
}

Json sections_json(const Manifest& manifest) {
  Json json = Json::object();
  for (std::size_t i = 0; i < kSections.size(); ++i)
    json[std::string(kSections[i])] = manifest.section_bytes[i];
  return json;
}

Json contents_json(const Manifest& manifest) {
  Json sums = Json::array();
  for (const std::uint64_t sum : manifest.sums) sums.push_back(hex(sum));
  return {{"sections", sections_json(manifest)}, {"sums", std::move(sums)}};
}

Json body_json(const Manifest& m) {
  return {{"format", kFormat},
          {"number", m.number},
          {"rank", m.rank},
          {"ranks", m.ranks},
          {"created", m.created},
          {"version", m.version},
          {"ground", ground_json(m.ground)},
          {"references", references_json(m.references)},
          {"model",
           {{"name", m.model},
            {"path", m.model_path},
            {"parameters", m.parameters},
            {"changes", m.changes},
            {"lps", m.lps},
            {"tick_seconds", m.tick_seconds}}},
          {"run",
           {{"seed", hex(m.seed)},
            {"model_seed", hex(m.model_seed)},
            {"until_ticks", m.until_ticks},
            {"livelock_microsteps", m.livelock_microsteps},
            {"observed", m.observed},
            {"wall_seconds", m.wall_seconds},
            {"snapshot_every_ticks", m.every_ticks},
            {"snapshot_wall_seconds", m.wall_every_seconds},
            {"snapshot_share", m.wall_share},
            {"snapshot_at_ticks", m.at_ticks}}},
          {"cut", key_json(m.cut)},
          {"committed", m.committed},
          {"executed", m.executed},
          {"pending", m.pending},
          {"trail", {{"ticks", m.trail_ticks}, {"lps", m.trail_lps}}},
          {"fingerprint", hex(m.fingerprint)},
          {"rows_bytes", m.rows_bytes},
          {"contents", contents_json(m)}};
}

std::string text_of(const Json& json) {
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

void read_model_and_run(const Json& json, Manifest& m) {
  const Json& model = json.at("model");
  m.model = model.at("name");
  m.model_path = model.at("path");
  m.parameters = model.at("parameters").get<std::map<std::string, std::string>>();
  m.changes = model.at("changes").get<std::map<std::string, std::string>>();
  m.lps = model.at("lps");
  m.tick_seconds = model.at("tick_seconds");
  const Json& run = json.at("run");
  m.seed = from_hex(run.at("seed"));
  m.model_seed = from_hex(run.at("model_seed"));
  m.until_ticks = run.at("until_ticks");
  m.livelock_microsteps = run.at("livelock_microsteps");
  m.observed = run.at("observed").get<std::map<std::string, std::string>>();
  m.wall_seconds = run.at("wall_seconds");
  m.every_ticks = run.at("snapshot_every_ticks");
  m.wall_every_seconds = run.at("snapshot_wall_seconds");
  m.wall_share = run.at("snapshot_share");
  m.at_ticks = run.at("snapshot_at_ticks").get<std::vector<std::int64_t>>();
}

void read_contents(const Json& json, Manifest& m) {
  for (const Json& sum : json.at("sums")) m.sums.push_back(from_hex(sum));
  for (std::size_t i = 0; i < kSections.size(); ++i)
    m.section_bytes[i] = json.at("sections").at(std::string(kSections[i]));
  if (m.sums.size() != (m.contents_bytes() + kSumBytes - 1) / kSumBytes)
    throw UsageError("the number of its checksums");
}

Manifest read(const Json& json) {
  Manifest m;
  m.number = json.at("number");
  m.rank = json.at("rank");
  m.ranks = json.at("ranks");
  m.created = json.at("created");
  m.version = json.at("version");
  m.ground = ground_of(json.at("ground"));
  for (const Json& one : json.at("references"))
    m.references.push_back(
        {one.at("path"), one.at("build_id"), from_hex(one.at("base")), one.at("words")});
  read_model_and_run(json, m);
  m.cut = key_of(json.at("cut"));
  m.committed = json.at("committed");
  m.executed = json.at("executed");
  m.pending = json.at("pending");
  m.trail_ticks = json.at("trail").at("ticks");
  m.trail_lps = json.at("trail").at("lps").get<std::vector<LpId>>();
  m.fingerprint = from_hex(json.at("fingerprint"));
  m.rows_bytes = json.at("rows_bytes");
  read_contents(json.at("contents"), m);
  return m;
}

}  // namespace

std::uint64_t checksum(const void* bytes, std::size_t count) {
  return XXH3_64bits(bytes, count);
}

Ground Ground::of_this_process(const std::string& model_path) {
  Ground ground;
  ground.program = build_of_program();
  if (!model_path.empty()) ground.model_object = build_of_model(model_path);
  const auto& region = memory::Region::instance();
  ground.region_base = reinterpret_cast<std::uintptr_t>(region.base());
  ground.region_bytes = region.bytes();
  ground.page_bytes = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  return ground;
}

std::uint64_t Manifest::contents_bytes() const {
  return std::accumulate(section_bytes.begin(), section_bytes.end(), std::uint64_t{0});
}

void Manifest::add_part(const Manifest& part) {
  pending += part.pending;
  fingerprint += part.fingerprint;
  for (const Reference& one : part.references) {
    const auto same =
        std::find_if(references.begin(), references.end(), [&](const Reference& other) {
          return other.path == one.path && other.build_id == one.build_id && other.base == one.base;
        });
    same == references.end() ? references.push_back(one) : void(same->words += one.words);
  }
}

std::string Manifest::time() const {
  return fmt::format("{} (tick {})", duration_text(cut.time() - Time::zero(), tick_seconds),
                     cut.time().ticks());
}

/// The checksum covers the text without the checksum.
std::string Manifest::to_json() const {
  Json json = body_json(*this);
  const std::string text = text_of(json);
  json["sum"] = hex(checksum(text.data(), text.size()));
  return text_of(json);
}

Manifest Manifest::from_json(const std::string& text, const std::string& name) {
  Json json = Json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("sum"))
    throw UsageError(fmt::format("'{}' is no manifest of a snapshot, or is damaged", name));
  try {
    if (json.value("format", 0) != kFormat)
      throw UsageError(fmt::format(
          "'{}' is of another version of Orrery: its format is {}, this one's {}; use the version "
          "that made it, {}",
          name, json.value("format", 0), kFormat, json.value("version", "?")));
    const std::uint64_t sum = from_hex(json["sum"]);
    json.erase("sum");
    const std::string body = text_of(json);
    if (checksum(body.data(), body.size()) != sum)
      throw UsageError(fmt::format("'{}' is damaged: it does not have its checksum", name));
    return read(json);
  } catch (const Json::exception& error) {
    throw UsageError(fmt::format("'{}' is damaged: {}", name, error.what()));
  }
}

}  // namespace orrery::snapshot
