// SPDX-License-Identifier: Apache-2.0
#include "page/comparison_page.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <set>

#include "output/metric_figures.h"
#include "output/number_text.h"
#include "page/document.h"
#include "page/findings.h"
#include "page/markup.h"
#include "page/metrics.h"
#include "page/pictures.h"
#include "page/progress_charts.h"
#include "page/run_page.h"

namespace orrery::page {
namespace {

using Runs = std::vector<NamedRun>;

/// The runs, named by the last parts of their paths, or by the whole paths if the last parts are
/// not all different.
Runs named(const std::vector<RunFolder>& folders) {
  Runs runs;
  std::set<std::string> names;
  for (const RunFolder& folder : folders) {
    const std::filesystem::path path = std::filesystem::path(folder.path).lexically_normal();
    const auto last = path.has_filename() ? path.filename() : path.parent_path().filename();
    runs.push_back({last.string(), &folder});
    names.insert(runs.back().name);
  }
  if (names.size() == runs.size()) return runs;
  for (NamedRun& run : runs) run.name = run.folder->path;
  return runs;
}

const Json& report_of(const NamedRun& run) {
  return run.folder->report;
}

/// The values of all runs at a place; empty if all are the same.
std::vector<const Json*> differing(const Runs& runs, Path path) {
  std::vector<const Json*> values;
  for (const NamedRun& run : runs) values.push_back(&at(report_of(run), path));
  const bool same = std::all_of(values.begin(), values.end(),
                                [&](const Json* one) { return *one == *values.front(); });
  return same ? std::vector<const Json*>() : values;
}

/// The names in the objects at that place of all reports, in the order of the reports.
std::vector<std::string> names_at(const Runs& runs, Path path) {
  std::vector<std::string> names;
  for (const NamedRun& run : runs) {
    const Json& object = at(report_of(run), path);
    if (!object.is_object()) continue;
    for (const auto& [name, value] : object.items())
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

std::vector<Cell> headings(const Runs& runs, const char* first) {
  std::vector<Cell> cells = {text_cell(first)};
  for (const NamedRun& run : runs) cells.push_back(number_cell(run.name));
  return cells;
}

std::string difference_markup(const Runs& runs) {
  TableMarkup table(headings(runs, "asked for"));
  const auto add = [&](const std::string& name, const std::vector<const Json*>& values) {
    if (values.empty()) return;
    std::vector<Cell> cells = {text_cell(name)};
    for (const Json* value : values) cells.push_back(number_cell(exact_text(*value)));
    table.add(cells);
  };
  add("model", differing(runs, {"model", "name"}));
  for (const std::string& name : names_at(runs, {"parameters"}))
    add(name, differing(runs, {"parameters", name.c_str(), "value"}));
  for (const std::string& name : names_at(runs, {"options"}))
    if (name != "until_ticks")  // "until" shows the same
      add(name + " (option)", differing(runs, {"options", name.c_str()}));
  add("version of orrery", differing(runs, {"orrery", "version"}));
  add("build of orrery", differing(runs, {"orrery", "build"}));
  add("build of the model", differing(runs, {"model", "build"}));
  add("processor", differing(runs, {"host", "cpu"}));
  if (table.empty()) return "<p>Nothing: model, parameters and options are the same.</p>\n";
  return table.text();
}

std::string relative_text(double first, double difference) {
  if (difference == 0) return "=";
  if (first == 0) return "-";
  const double percent = 100 * difference / std::fabs(first);
  if (std::fabs(percent) < 1000) return fmt::format("{:+.3g} %", percent);
  return fmt::format("{}{} %", percent > 0 ? "+" : "", number_text(std::round(percent)));
}

/// The values of all runs, and for each later run its difference from the first.
std::vector<Cell> compared_cells(const std::string& name, const std::vector<const Json*>& values) {
  std::vector<Cell> cells = {text_cell(name)};
  for (const Json* value : values) cells.push_back(value_cell(*value));
  const Json& first = *values.front();
  for (std::size_t i = 1; i < values.size(); ++i) {
    if (!first.is_number() || !values[i]->is_number()) {
      cells.insert(cells.end(), {number_cell(""), number_cell("")});
      continue;
    }
    const double difference = values[i]->get<double>() - first.get<double>();
    cells.push_back(value_cell(difference));
    cells.push_back(number_cell(relative_text(first.get<double>(), difference)));
  }
  return cells;
}

std::vector<Cell> compared_headings(const Runs& runs, const char* first) {
  std::vector<Cell> cells = headings(runs, first);
  for (std::size_t i = 1; i < runs.size(); ++i) {
    const std::string what = runs.size() == 2 ? "difference" : runs[i].name + " - " + runs[0].name;
    cells.insert(cells.end(), {number_cell(what), number_cell("relative")});
  }
  return cells;
}

std::vector<const Json*> values_at(const Runs& runs, Path path) {
  std::vector<const Json*> values;
  for (const NamedRun& run : runs) values.push_back(&at(report_of(run), path));
  return values;
}

std::string unit_at(const Runs& runs, Path path) {
  for (const NamedRun& run : runs)
    if (const std::string unit = text_at(report_of(run), path); !unit.empty())
      return unit_text(unit);
  return "";
}

std::string with_unit_behind(const std::string& name, const std::string& unit) {
  return unit.empty() ? name : fmt::format("{} ({})", name, unit);
}

std::string results_markup(const Runs& runs) {
  TableMarkup table(compared_headings(runs, "result"));
  for (const std::string& name : names_at(runs, {"results"}))
    table.add(
        compared_cells(with_unit_behind(name, unit_at(runs, {"results", name.c_str(), "unit"})),
                       values_at(runs, {"results", name.c_str(), "value"})));
  return table.empty() ? "" : table.text();
}

/// The main figures of all metrics, or the others.
std::string figures_table(const Runs& runs, bool main) {
  TableMarkup table(compared_headings(runs, "figure"));
  for (const std::string& name : names_at(runs, {"metrics"})) {
    for (const std::string& figure : names_at(runs, {"metrics", name.c_str(), "figures"})) {
      if (is_main_figure(figure) != main) continue;
      const auto values = values_at(runs, {"metrics", name.c_str(), figure.c_str()});
      const bool any = std::any_of(values.begin(), values.end(),
                                   [](const Json* value) { return value->is_number(); });
      if (any)
        table.add(compared_cells(
            with_unit_behind(name + "." + figure,
                             unit_at(runs, {"metrics", name.c_str(), "figures", figure.c_str()})),
            values));
    }
  }
  return table.empty() ? "" : table.text();
}

std::string metrics_markup(const Runs& runs) {
  std::string text = figures_table(runs, true);
  if (const std::string others = figures_table(runs, false); !others.empty())
    text += folded("Other figures", others);
  return text + metric_charts(runs) + course_charts(runs);
}

std::string speed_markup(const Runs& runs) {
  struct Place {
    const char* name;
    Path path;
  };
  static const std::array<Place, 8> kPlaces = {
      {{"committed events", {"run", "committed"}},
       {"executed events", {"run", "executed"}},
       {"efficiency", {"run", "efficiency"}},
       {"wall time (s)", {"run", "seconds", "wall"}},
       {"of that, loop (s)", {"run", "seconds", "loop"}},
       {"committed events/s", {"run", "events_per_second"}},
       {"simulated s/s", {"run", "simulated_seconds_per_second"}},
       {"memory at most (B)", {"run", "peak_rss_bytes"}}}};
  TableMarkup table(compared_headings(runs, "figure"));
  for (const Place& place : kPlaces)
    table.add(compared_cells(place.name, values_at(runs, place.path)));
  return table.text() + progress_charts(runs);
}

std::string verdict_markup(const Runs& runs) {
  std::vector<const Json*> reports;
  for (const NamedRun& run : runs) reports.push_back(&report_of(run));
  const std::string first = "0x" + text_at(*reports.front(), {"run", "fingerprint"});
  switch (verdict_of(reports)) {
    case Verdict::equal:
      return fmt::format(
          "<p class=\"good\">The fingerprints are equal ({}): the runs committed the "
          "same events and ended in the same states.</p>\n",
          escaped(first));
    case Verdict::incomplete:
      return "<p class=\"warn\">The fingerprints compare with nothing: not all runs are "
             "complete.</p>\n";
    case Verdict::expected:
      return "<p class=\"note\">The fingerprints are not equal, as is to be expected of runs with "
             "different parameters, seeds or horizons.</p>\n";
    case Verdict::unclear:
      return "<p class=\"warn\">The fingerprints are not equal. Parameters, seed and horizon are "
             "the same, but builds or input files are not.</p>\n";
    case Verdict::wrong:
      break;
  }
  return "<p class=\"bad\">The fingerprints are not equal, though model, builds, parameters, input "
         "files, seed and horizon are the same: the model depends on something that is not part of "
         "its LPs&#39; state, or an engine is wrong. 'orrery run --engine checker' looks for the "
         "former.</p>\n";
}

std::string runs_markup(const Runs& runs) {
  TableMarkup table({text_cell("run"), text_cell("model"), text_cell("on"), text_cell("end"),
                     text_cell("fingerprint"), text_cell("command")});
  for (const NamedRun& run : runs) {
    const Json& report = report_of(run);
    table.add(
        {text_cell(run.name),
         text_cell(text_at(report, {"model", "name"})),
         text_cell(shape_text(report)),
         text_cell(text_at(report, {"run", "end"}) + " at " + text_at(report, {"run", "reached"})),
         {fmt::format("<code>0x{}</code>", escaped(text_at(report, {"run", "fingerprint"})))},
         {fmt::format("<code>{}</code>", escaped(command_text(report)))}});
  }
  return verdict_markup(runs) + table.text();
}

std::string findings_markup(const Runs& runs) {
  std::string text;
  for (const NamedRun& run : runs) {
    std::string list;
    for (const Finding& one : findings_of(report_of(run)))
      list += fmt::format("<li>{}</li>\n", escaped(one.text));
    if (!list.empty())
      text +=
          fmt::format("<h3>{}</h3>\n<ul class=\"findings\">\n{}</ul>\n", escaped(run.name), list);
  }
  return text;
}

std::string remarks_markup(const Runs& runs) {
  std::string text;
  for (const NamedRun& run : runs)
    for (const std::string& remark : run.folder->remarks)
      text += fmt::format("<p class=\"note\">{}: {}</p>\n", escaped(run.name), escaped(remark));
  return text;
}

std::string all_pictures(const Runs& runs) {
  std::string text;
  for (const NamedRun& run : runs)
    if (!run.folder->pictures.empty())
      text +=
          fmt::format("<h3>{}</h3>\n{}", escaped(run.name), pictures_markup(run.folder->pictures));
  return text;
}

bool same_at(const std::vector<const Json*>& reports, Path path) {
  return std::all_of(reports.begin(), reports.end(), [&](const Json* report) {
    return at(*report, path) == at(*reports.front(), path);
  });
}

}  // namespace

Verdict verdict_of(const std::vector<const Json*>& reports) {
  for (const Json* report : reports)
    if (at(*report, {"complete"}) != true) return Verdict::incomplete;
  if (same_at(reports, {"run", "fingerprint"})) return Verdict::equal;
  const bool same_question =
      same_at(reports, {"model", "name"}) && same_at(reports, {"parameters"}) &&
      same_at(reports, {"options", "seed"}) && same_at(reports, {"options", "until_ticks"}) &&
      same_at(reports, {"snapshots", "forked_from"});
  if (!same_question) return Verdict::expected;
  const bool same_ground = same_at(reports, {"orrery", "build"}) &&
                           same_at(reports, {"model", "build"}) && same_at(reports, {"inputs"});
  return same_ground ? Verdict::wrong : Verdict::unclear;
}

std::string page_of_comparison(const std::vector<RunFolder>& folders) {
  const Runs runs = named(folders);
  std::string names, banners;
  for (const NamedRun& run : runs) {
    names += (names.empty() ? "" : ", ") + run.name;
    banners += end_banner(report_of(run), run.name);
  }
  const std::string head =
      fmt::format("<h1>{} runs of {}</h1>\n<p class=\"sub\">{}</p>\n{}", runs.size(),
                  escaped(text_at(report_of(runs[0]), {"model", "name"})), escaped(names), banners);
  return document_of(names, head,
                     {{"Runs", runs_markup(runs)},
                      {"Differences", difference_markup(runs)},
                      {"Remarks", remarks_markup(runs)},
                      {"Results", results_markup(runs)},
                      {"Metrics", metrics_markup(runs)},
                      {"Speed", speed_markup(runs)},
                      {"What limited them", findings_markup(runs)},
                      {"Pictures", all_pictures(runs)}});
}

}  // namespace orrery::page
