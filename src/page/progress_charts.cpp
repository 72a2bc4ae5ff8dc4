// SPDX-License-Identifier: Apache-2.0
#include "page/progress_charts.h"

#include <algorithm>

#include "output/number_text.h"
#include "page/chart.h"
#include "page/markup.h"
#include "page/progress.h"

namespace orrery::page {
namespace {

constexpr double kMebibyte = 1 << 20;
constexpr std::size_t kFewestSamples = 4;  // for a chart
constexpr double kNoticeable = 0.995;      // from this efficiency on, both rates share a line

struct Sampled {
  std::string name;
  const RunFolder* folder;
  Progress progress;
};

/// Rates between samples, each at the later sample.
Line rate_line(const std::string& name, const std::vector<double>& wall,
               const std::vector<double>& counter, double unit) {
  Line line{name, {}, true};
  for (std::size_t i = 1; i < wall.size(); ++i) {
    const double seconds = wall[i] - wall[i - 1];
    if (!(seconds > 0)) continue;
    const double rate = std::max(0.0, counter[i] - counter[i - 1]) / seconds;
    if (line.points.empty()) line.points.push_back({wall[i - 1] / unit, rate});
    line.points.push_back({wall[i] / unit, rate});
  }
  return line;
}

Line value_line(const std::string& name, const std::vector<double>& wall,
                const std::vector<double>& values, double x_unit, double y_unit) {
  Line line{name, {}};
  for (std::size_t i = 0; i < wall.size(); ++i)
    line.points.push_back({wall[i] / x_unit, values[i] / y_unit});
  return line;
}

std::string engine_name(const Json& period) {
  const double workers = number_at(period, {"workers"}).value_or(1);
  const std::string engine = text_at(period, {"engine"});
  return workers > 1 ? fmt::format("{} with {} workers", engine, workers) : engine;
}

/// The periods of a run that changed its engine. Periods count from the begin of the first, samples
/// from the start of the observer; the two differ by milliseconds.
std::vector<Stretch> engine_stretches(const Json& report, double unit) {
  std::vector<Stretch> stretches;
  std::vector<std::string> names;
  const Json& periods = at(report, {"engines"});
  if (!periods.is_array() || periods.size() < 2) return stretches;
  for (const Json& period : periods) {
    const std::string name = engine_name(period);
    auto known = std::find(names.begin(), names.end(), name);
    if (known == names.end()) known = names.insert(names.end(), name);
    const double begin = number_at(period, {"begin_seconds"}).value_or(0);
    const double end = begin + number_at(period, {"seconds"}).value_or(0);
    const auto colour = static_cast<unsigned>(known - names.begin()) + 1;
    stretches.push_back({begin / unit, end / unit, colour, name});
  }
  return stretches;
}

std::string events_chart(const std::vector<Sampled>& runs, const TimeUnit& unit) {
  Chart chart{.title = "Events a second",
              .x_label = fmt::format("wall-clock time ({})", unit.name),
              .y_label = "events/s"};
  for (const Sampled& run : runs) {
    const Json& report = run.folder->report;
    const bool both = number_at(report, {"run", "efficiency"}).value_or(1) < kNoticeable;
    const std::string before = run.name.empty() ? "" : run.name + ", ";
    chart.lines.push_back(rate_line(both ? before + "committed" : run.name, run.progress.wall,
                                    run.progress.committed, unit.seconds));
    if (runs.size() > 1 || !both) continue;
    chart.lines.push_back(
        rate_line("executed", run.progress.wall, run.progress.executed, unit.seconds));
    chart.lines.back().dashed = true;
  }
  if (runs.size() == 1) chart.stretches = engine_stretches(runs[0].folder->report, unit.seconds);
  return figure_of(chart);
}

/// For one run with an efficiency below kNoticeable.
std::string efficiency_chart(const std::vector<Sampled>& runs, const TimeUnit& unit) {
  if (runs.size() != 1) return "";
  if (number_at(runs[0].folder->report, {"run", "efficiency"}).value_or(1) >= kNoticeable)
    return "";
  const Progress& progress = runs[0].progress;
  Line line{"", {}, true};
  for (std::size_t i = 1; i < progress.size(); ++i) {
    const double executed = progress.executed[i] - progress.executed[i - 1];
    const double committed = progress.committed[i] - progress.committed[i - 1];
    if (executed > 0)
      line.points.push_back(
          {progress.wall[i] / unit.seconds, 100 * std::clamp(committed / executed, 0.0, 1.0)});
  }
  return figure_of({.title = "Efficiency: committed of what was executed",
                    .x_label = fmt::format("wall-clock time ({})", unit.name),
                    .y_label = "%",
                    .lines = {std::move(line)}});
}

std::string simulated_chart(const std::vector<Sampled>& runs, const TimeUnit& unit) {
  double longest = 0;
  for (const Sampled& run : runs) longest = std::max(longest, run.progress.simulated.back());
  const TimeUnit simulated = unit_of_span(longest);
  Chart chart{.title = "How far the run had come",
              .x_label = fmt::format("wall-clock time ({})", unit.name),
              .y_label = fmt::format("simulated time ({})", simulated.name)};
  for (const Sampled& run : runs)
    chart.lines.push_back(value_line(run.name, run.progress.wall, run.progress.simulated,
                                     unit.seconds, simulated.seconds));
  return figure_of(chart);
}

/// Without the last sample, taken after LPs and events are freed.
std::string memory_chart(const std::vector<Sampled>& runs, const TimeUnit& unit) {
  Chart chart{.title = "Memory of the process",
              .x_label = fmt::format("wall-clock time ({})", unit.name),
              .y_label = "MiB"};
  for (const Sampled& run : runs)
    chart.lines.push_back(
        value_line(run.name, run.progress.wall, run.progress.memory, unit.seconds, kMebibyte));
  for (Line& line : chart.lines)
    if (line.points.size() > 2) line.points.pop_back();
  return figure_of(chart);
}

}  // namespace

std::string progress_charts(const std::vector<NamedRun>& runs) {
  std::vector<Sampled> sampled;
  double longest = 0;
  for (const NamedRun& run : runs) {
    Progress progress = progress_of(run.folder->report);
    if (progress.size() < 2) continue;
    longest = std::max(longest, progress.wall.back());
    sampled.push_back({runs.size() > 1 ? run.name : "", run.folder, std::move(progress)});
  }
  const bool any = std::any_of(sampled.begin(), sampled.end(), [](const Sampled& run) {
    return run.progress.size() >= kFewestSamples;
  });
  if (!any) return "";
  const TimeUnit unit = unit_of_span(longest);
  return "<div class=\"charts\">\n" + events_chart(sampled, unit) + simulated_chart(sampled, unit) +
         efficiency_chart(sampled, unit) + memory_chart(sampled, unit) + "</div>\n";
}

std::string periods_table(const Json& report) {
  const Json& periods = at(report, {"engines"});
  if (!periods.is_array()) return "";
  TableMarkup table({text_cell("engine"), text_cell("why"), number_cell("from"), number_cell("for"),
                     number_cell("committed"), number_cell("events/s")});
  for (const Json& period : periods) {
    const auto number = [&](const char* name) { return number_at(period, {name}).value_or(0); };
    const double loop = number("loop_seconds");
    table.add({text_cell(engine_name(period)), text_cell(text_at(period, {"why"})),
               number_cell(span_text(number("begin_seconds"))),
               number_cell(span_text(number("seconds"))),
               number_cell(value_text(at(period, {"committed"}))),
               number_cell(loop > 0 ? short_number(number("committed") / loop) : "-")});
  }
  return table.empty() ? "" : table.text();
}

}  // namespace orrery::page
