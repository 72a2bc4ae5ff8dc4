// SPDX-License-Identifier: Apache-2.0
#include "live/state.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "output/number_text.h"
#include "output/report.h"
#include "page/markup.h"
#include "page/metrics.h"
#include "page/progress_charts.h"

namespace orrery::live {
namespace {

using page::escaped;

/// The last counters of the run, whether it still runs or has ended.
struct Now {
  ProgressPoint point;
  double efficiency = 1;
  double share = 0;
};

Now now_of(const Facts& facts, const View& view) {
  Now now;
  if (!view.points.empty()) now.point = view.points.back();
  if (now.point.executed > 0)
    now.efficiency = std::min(
        1.0, static_cast<double>(now.point.committed) / static_cast<double>(now.point.executed));
  const double share =
      facts.horizon_seconds > 0 ? now.point.simulated_seconds / facts.horizon_seconds : 0;
  now.share = view.ending && view.ending->end == "completed" ? 1 : std::clamp(share, 0.0, 1.0);
  return now;
}

Json numbers_json(const Facts& facts, const View& view, const Now& now) {
  const std::optional<double> left = view.meter.seconds_left();
  const bool goes_on = view.phase == Phase::running || view.phase == Phase::stopping;
  return {{"wall_seconds", now.point.wall_seconds},
          {"simulated_seconds", now.point.simulated_seconds},
          {"horizon_seconds", facts.horizon_seconds},
          {"share", now.share},
          {"seconds_left", goes_on && left ? Json(*left) : Json()},
          {"events_per_second", view.meter.events_per_second()},
          {"simulated_seconds_per_second", view.meter.simulated_per_second()},
          {"committed", now.point.committed},
          {"executed", now.point.executed},
          {"efficiency", now.efficiency},
          {"memory_bytes", now.point.memory_bytes},
          {"engine", now.point.engine == nullptr ? "" : now.point.engine},
          {"workers", now.point.workers}};
}

Json map_json(const Look& look) {
  const LpMap& map = look.map;
  return {{"lps", map.lps},
          {"lps_a_cell", map.lps_a_cell},
          {"seconds", look.since_seconds},
          {"sent", map.sent},
          {"owned_by", map.by_rank ? "rank" : "worker"},
          {"owners", map.owners},
          {"owner", map.owner}};
}

Json look_json(const View& view, std::uint64_t known_look) {
  if (!view.look) return nullptr;
  const Look& look = *view.look;
  Json json = {{"number", look.number},
               {"wall_seconds", look.wall_seconds},
               {"reached_seconds", look.reached_seconds},
               {"reached", rounded_time_text(look.reached_seconds)},
               {"metrics", look.metrics}};
  if (look.number != known_look) json["map"] = map_json(look);
  return json;
}

// ---- For the page

/// The periods of engines, as in a report.
Json engines_json(const std::vector<ProgressPoint>& points) {
  Json json = Json::array();
  for (const ProgressPoint& one : points) {
    if (one.engine == nullptr) continue;
    const bool same = !json.empty() && json.back()["engine"] == one.engine &&
                      json.back()["workers"] == one.workers;
    if (!same)
      json.push_back({{"engine", one.engine},
                      {"workers", one.workers},
                      {"begin_seconds", json.empty() ? 0.0 : one.wall_seconds}});
    json.back()["seconds"] = one.wall_seconds - json.back()["begin_seconds"].get<double>();
  }
  for (std::size_t i = 0; i + 1 < json.size(); ++i)
    json[i]["seconds"] =
        json[i + 1]["begin_seconds"].get<double>() - json[i]["begin_seconds"].get<double>();
  return json;
}

std::string charts_markup(const View& view, const Now& now) {
  page::RunFolder run;
  run.report = {{"run", {{"efficiency", now.efficiency}}},
                {"engines", engines_json(view.points)},
                {"progress", report_progress(view.points)}};
  const std::string text = page::progress_charts({{"", &run}});
  return text.empty() ? "<p class=\"small\">There are not enough samples for a picture yet.</p>\n"
                      : text;
}

std::string tile(const char* name, const std::string& value, const std::string& below) {
  return fmt::format("<div class=\"tile\"><span>{}</span><b>{}</b><span>{}</span></div>\n", name,
                     escaped(value), escaped(below));
}

/// The number of workers, if it is known: for an engine chosen by name from the last look.
std::string workers_text(const Facts& facts, const View& view, const Now& now) {
  unsigned workers = now.point.workers;
  if (workers == 0 && view.look && !view.look->map.by_rank) workers = view.look->map.owners;
  if (workers == 0) workers = facts.workers;
  const std::string ranks = facts.ranks > 1 ? fmt::format("{} ranks", facts.ranks) : "";
  if (workers == 0) return ranks;
  return fmt::format("{}{}{} worker{}", ranks, ranks.empty() ? "" : " of ", workers,
                     workers == 1 ? "" : "s");
}

std::string tiles_markup(const Facts& facts, const View& view, const Now& now) {
  const ProgressPoint& point = now.point;
  const bool over = view.phase == Phase::ended;
  const double wall = point.wall_seconds;
  const double rate = over && wall > 0 ? static_cast<double>(point.committed) / wall
                                       : view.meter.events_per_second();
  const double pace =
      over && wall > 0 ? point.simulated_seconds / wall : view.meter.simulated_per_second();
  std::string text = tile("rate", short_number(rate) + " ev/s",
                          short_number(static_cast<double>(point.committed)) + " committed");
  text += tile("simulated time", rounded_time_text(point.simulated_seconds), pace_text(pace));
  text += tile("efficiency", percent_text(now.efficiency),
               short_number(static_cast<double>(point.executed)) + " executed");
  text += tile("memory", bytes_text(point.memory_bytes), "of the process");
  text += tile("wall time", span_text(wall), over ? "" : view.meter.left_text());
  return text + tile("engine", point.engine == nullptr ? facts.engine : point.engine,
                     workers_text(facts, view, now));
}

std::string metrics_markup(const Facts& facts, const View& view) {
  if (!facts.no_looks.empty() && !view.ending)
    return fmt::format("<p class=\"note\">{}</p>\n", escaped(facts.no_looks));
  const std::string table = view.ending ? page::figures_markup({{"metrics", view.ending->metrics}})
                            : view.look ? page::figures_markup({{"metrics", view.look->metrics}})
                                        : "";
  const std::string reached = view.ending ? view.ending->reached
                              : view.look ? rounded_time_text(view.look->reached_seconds)
                                          : "";
  if (reached.empty()) return "<p class=\"small\">No state of the run has been read yet.</p>\n";
  if (table.empty()) return "<p class=\"small\">The model has no metrics.</p>\n";
  return fmt::format("<p class=\"small\">Of all events committed before {}.</p>\n",
                     escaped(reached)) +
         table;
}

std::string state_markup(const Facts& facts, const View& view, const Now& now) {
  if (!view.ending)
    return fmt::format("<b>{}</b> {}", phase_text(view.phase),
                       escaped(fmt::format("{} of {}", percent_text(now.share), facts.horizon)));
  const Ending& ending = *view.ending;
  const char* box = ending.end == "completed" ? "good" : ending.sentence.empty() ? "warn" : "bad";
  std::string text = fmt::format("{} at {}", ending.end, ending.reached);
  if (!ending.fingerprint.empty()) text += ", fingerprint " + ending.fingerprint;
  if (!ending.sentence.empty()) text += "\n" + ending.sentence;
  return fmt::format("<span class=\"{}\">{}</span>", box, escaped(text));
}

}  // namespace

std::string state_json(const Facts& facts, const View& view, std::uint64_t known_look) {
  const Now now = now_of(facts, view);
  Json json = {{"schema", kStateSchema}, {"phase", phase_text(view.phase)}};
  json["end"] = view.ending ? Json(view.ending->end) : Json();
  json["sentence"] = view.ending ? Json(view.ending->sentence) : Json();
  json["model"] = facts.run.report["model"]["name"];
  json.update(numbers_json(facts, view, now));
  json["progress"] = report_progress(view.points);
  json["look"] = look_json(view, known_look);
  json["show"] = {{"state", state_markup(facts, view, now)},
                  {"tiles", tiles_markup(facts, view, now)},
                  {"charts", charts_markup(view, now)},
                  {"metrics", metrics_markup(facts, view)},
                  {"picture", view.look ? view.look->picture : ""}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace orrery::live
