// SPDX-License-Identifier: Apache-2.0
#include "page/run_page.h"

#include <utility>
#include <vector>

#include "output/number_text.h"
#include "page/document.h"
#include "page/findings.h"
#include "page/lp_charts.h"
#include "page/markup.h"
#include "page/metrics.h"
#include "page/pictures.h"
#include "page/progress_charts.h"

namespace orrery::page {
namespace {

using Fact = std::pair<const char*, std::string>;

/// The facts that have a text.
std::string facts_markup(const std::vector<Fact>& facts) {
  std::string text = "<dl>\n";
  for (const auto& [name, value] : facts)
    if (!value.empty())
      text += fmt::format("<dt>{}</dt><dd>{}</dd>\n", escaped(name), escaped(value));
  return text + "</dl>\n";
}

std::string count_text(const Json& report, Path path) {
  const auto number = number_at(report, path);
  return number ? value_text(*number) : "";
}

std::string model_text(const Json& report) {
  std::string text = fmt::format("{}, {} LPs", text_at(report, {"model", "name"}),
                                 count_text(report, {"model", "lps"}));
  if (const std::string path = text_at(report, {"model", "path"}); !path.empty())
    text += fmt::format(" ({}, build {})", path, text_at(report, {"model", "build"}));
  return text;
}

std::string wall_text(const Json& report) {
  const auto span = [&](const char* part) {
    return span_text(number_at(report, {"run", "seconds", part}).value_or(0));
  };
  return fmt::format("{}: start {}, loop {}, end {}", span("wall"), span("startup"), span("loop"),
                     span("shutdown"));
}

std::string events_text(const Json& report) {
  const auto efficiency = number_at(report, {"run", "efficiency"});
  return fmt::format(
      "{} committed of {} executed (efficiency {})", count_text(report, {"run", "committed"}),
      count_text(report, {"run", "executed"}), efficiency ? percent_text(*efficiency) : "-");
}

std::string rate_text(const Json& report) {
  const auto pace = number_at(report, {"run", "simulated_seconds_per_second"});
  return fmt::format("{} committed events/s, {} simulated",
                     short_number(number_at(report, {"run", "events_per_second"}).value_or(0)),
                     pace ? pace_text(*pace) : "-");
}

std::string end_text(const Json& report) {
  return fmt::format("{} at {}, horizon {}", text_at(report, {"run", "end"}),
                     text_at(report, {"run", "reached"}), text_at(report, {"options", "until"}));
}

std::string host_text(const Json& report) {
  return fmt::format(
      "{}, {} of {} cores usable, {}, {}", text_at(report, {"host", "cpu"}),
      count_text(report, {"host", "usable_cores"}), count_text(report, {"host", "cores"}),
      bytes_text(
          static_cast<std::uint64_t>(number_at(report, {"host", "memory_bytes"}).value_or(0))),
      text_at(report, {"host", "system"}));
}

std::string ranks_text(const Json& report) {
  const Json& hosts = at(report, {"run", "hosts"});
  if (!hosts.is_array()) return "";
  std::string text =
      count_text(report, {"run", "ranks"}) + " over " + text_at(report, {"run", "back_end"}) + ":";
  for (const Json& host : hosts) text += " " + value_text(host);
  return text;
}

std::string resumed_text(const Json& report) {
  const std::string at_time = text_at(report, {"snapshots", "resumed_at"});
  const std::string from = text_at(report, {"snapshots", "forked_from"});
  if (at_time.empty()) return "";
  return at_time + (from.empty() ? "" : ", of the run in " + from);
}

std::string run_markup(const RunFolder& run) {
  const Json& report = run.report;
  const std::string fingerprint = text_at(report, {"run", "fingerprint"});
  return facts_markup(
      {{"model", model_text(report)},
       {"engine", shape_text(report)},
       {"ranks", ranks_text(report)},
       {"end", end_text(report)},
       {"events", events_text(report)},
       {"wall time", wall_text(report)},
       {"rate", rate_text(report)},
       {"memory", bytes_text(static_cast<std::uint64_t>(
                      number_at(report, {"run", "peak_rss_bytes"}).value_or(0))) +
                      " at most"},
       {"fingerprint", fingerprint.empty() ? "" : "0x" + fingerprint},
       {"resumed at", resumed_text(report)},
       {"command", command_text(report)},
       {"started", text_at(report, {"started"})},
       {"host", host_text(report)},
       {"orrery", fmt::format("{}, build {}", text_at(report, {"orrery", "version"}),
                              text_at(report, {"orrery", "build"}))},
       {"folder", run.path}});
}

std::string findings_markup(const RunFolder& run) {
  std::string text;
  const std::string account = text_at(run.report, {"account"});
  if (!account.empty())
    text += fmt::format("<p>{}: {}.</p>\n", escaped(text_at(run.report, {"options", "engine"})),
                        escaped(account));
  std::string list;
  for (const Finding& one : findings_of(run.report)) {
    std::string places;
    for (const std::string& figure : one.figures)
      places += (places.empty() ? "" : ", ") + fmt::format("<code>{}</code>", escaped(figure));
    list += fmt::format("<li>{} <span class=\"small\">{}</span></li>\n", escaped(one.text), places);
  }
  if (!list.empty()) text += "<ul class=\"findings\">\n" + list + "</ul>\n";
  return text;
}

std::string parameter_rows(const RunFolder& run, bool changed, std::size_t& count) {
  TableMarkup table({text_cell("parameter"), text_cell("value"),
                     text_cell(changed ? "default" : ""), text_cell("meaning")});
  const Json& parameters = at(run.report, {"parameters"});
  count = 0;
  if (!parameters.is_object()) return "";
  for (const auto& [name, parameter] : parameters.items()) {
    const Json &value = at(parameter, {"value"}), &usual = at(parameter, {"default"});
    if ((value != usual) != changed) continue;
    ++count;
    const std::string unit = text_at(parameter, {"unit"});
    const auto help = run.parameter_help.find(name);
    table.add({text_cell(name), text_cell(with_unit(exact_text(value), unit)),
               text_cell(changed ? with_unit(exact_text(usual), unit) : ""),
               text_cell(help == run.parameter_help.end() ? "" : help->second)});
  }
  return table.empty() ? "" : table.text();
}

std::string options_table(const Json& report) {
  TableMarkup table({text_cell("option"), text_cell("value")});
  const Json& options = at(report, {"options"});
  if (!options.is_object()) return "";
  for (const auto& [name, value] : options.items())
    table.add({text_cell(name), text_cell(exact_text(value))});
  return folded("Options of the run", table.text());
}

std::string inputs_table(const Json& report) {
  const Json& inputs = at(report, {"inputs"});
  TableMarkup table({text_cell("input file"), number_cell("bytes"), text_cell("digest (XXH3)")});
  if (inputs.is_array())
    for (const Json& one : inputs)
      table.add({text_cell(text_at(one, {"path"})), number_cell(value_text(at(one, {"bytes"}))),
                 text_cell(text_at(one, {"xxh3_128"}))});
  return table.empty() ? "" : table.text();
}

std::string results_markup(const Json& report) {
  TableMarkup table(
      {text_cell("result"), number_cell("value"), text_cell("unit"), text_cell("meaning")});
  const Json& results = at(report, {"results"});
  if (!results.is_object()) return "";
  for (const auto& [name, result] : results.items()) {
    const std::string unit = text_at(result, {"unit"});
    table.add({text_cell(name), value_cell(at(result, {"value"})), text_cell(unit_text(unit)),
               text_cell(text_at(result, {"help"}))});
  }
  return table.empty() ? "" : table.text();
}

std::string statistics_table(const Json& report) {
  TableMarkup table(
      {text_cell("figure"), number_cell("value"), text_cell("unit"), text_cell("meaning")});
  const Json& statistics = at(report, {"statistics"});
  if (!statistics.is_object()) return "";
  for (const auto& [name, one] : statistics.items())
    table.add({text_cell(name), value_cell(at(one, {"value"})), text_cell(text_at(one, {"unit"})),
               text_cell(text_at(one, {"help"}))});
  return table.empty() ? "" : folded("What the engine counted", table.text());
}

/// The send statistics of the checker.
std::string edges_table(const Json& report) {
  TableMarkup table({text_cell("from LPs of"), text_cell("event"), text_cell("to LPs of"),
                     number_cell("sends"), number_cell("smallest delay"), number_cell("broken")});
  const Json& edges = at(report, {"edges"});
  if (!edges.is_array()) return "";
  for (const Json& one : edges)
    table.add({text_cell(text_at(one, {"sender"})), text_cell(text_at(one, {"event"})),
               text_cell(at(one, {"to_itself"}) == true ? "the same" : text_at(one, {"receiver"})),
               value_cell(at(one, {"sends"})), number_cell(text_at(one, {"smallest_delay"})),
               value_cell(at(one, {"broken"}))});
  return table.empty() ? "" : folded("What was sent", table.text());
}

std::string engine_markup(const Json& report, const std::vector<NamedRun>& runs) {
  std::string charts = progress_charts(runs);
  if (charts.empty())
    charts = "<p class=\"small\">The run was too short for samples that make a picture.</p>\n";
  const std::string periods = periods_table(report);
  if (!periods.empty()) charts += folded("Periods of the run, by engine", periods);
  return charts + edges_table(report) + statistics_table(report);
}

std::string remarks_markup(const RunFolder& run) {
  std::string text;
  const Json& notes = at(run.report, {"notes"});
  if (notes.is_array())
    for (const Json& note : notes)
      text += fmt::format("<p class=\"note\">{}</p>\n", escaped(value_text(note)));
  for (const std::string& remark : run.remarks)
    text += fmt::format("<p class=\"note\">{}</p>\n", escaped(remark));
  return text;
}

std::string run_head(const Json& report) {
  return fmt::format("<h1>{}</h1>\n<p class=\"sub\">{}, {} {}</p>\n{}",
                     escaped(text_at(report, {"model", "name"})), escaped(shape_text(report)),
                     escaped(text_at(report, {"run", "end"})),
                     escaped("at " + text_at(report, {"run", "reached"})), end_banner(report));
}

}  // namespace

std::string end_banner(const Json& report, const std::string& name) {
  const std::string end = text_at(report, {"run", "end"});
  const Json& complete = at(report, {"complete"});
  if (complete.is_boolean() && complete.get<bool>()) return "";
  const std::string who = name.empty() ? "This run" : "Run " + name;
  std::string text = fmt::format(
      "{} is not complete ({}): it came to {} of {}, and what is shown of it is what "
      "had been committed by then.",
      who, end, text_at(report, {"run", "reached"}), text_at(report, {"options", "until"}));
  const std::string fault = text_at(report, {"run", "fault"});
  if (!fault.empty()) text += "\n" + fault;
  return fmt::format("<p class=\"{}\">{}</p>\n", fault.empty() ? "warn" : "bad", escaped(text));
}

std::string parameters_markup(const RunFolder& run) {
  std::size_t changed = 0, usual = 0;
  std::string text = parameter_rows(run, true, changed);
  const std::string others = parameter_rows(run, false, usual);
  if (changed == 0) text = "<p>All parameters have their defaults.</p>\n";
  if (usual > 0)
    text += folded(
        fmt::format("{} parameter{} with the default value", usual, usual == 1 ? "" : "s"), others);
  return text + options_table(run.report) + inputs_table(run.report);
}

std::string shape_text(const Json& report) {
  const auto number = [&](Path path) { return number_at(report, path).value_or(1); };
  const double workers = number({"run", "workers"}), ranks = number({"run", "ranks"});
  const std::string many = ranks > 1 ? fmt::format("{} ranks of ", ranks) : "";
  return fmt::format("{}, {}{} worker{}, seed {}", text_at(report, {"options", "engine"}), many,
                     workers, workers == 1 ? "" : "s", exact_text(at(report, {"options", "seed"})));
}

std::string command_text(const Json& report) {
  const Json& words = at(report, {"command"});
  if (!words.is_array() || words.empty()) return "";
  std::string text = "orrery";
  for (const Json& json : words) {
    std::string word = value_text(json);
    const bool plain =
        !word.empty() && word.find_first_of(" \t\n\"'\\$`&|;<>()*?[]#~!{}") == std::string::npos;
    if (!plain) {
      std::string quoted = "'";
      for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
      word = quoted + "'";
    }
    text += " " + word;
  }
  return text;
}

std::string page_of_run(const RunFolder& run) {
  const std::vector<NamedRun> runs = {{"", &run}};
  const std::string title = fmt::format("{}: {}", text_at(run.report, {"model", "name"}), run.path);
  return document_of(title, run_head(run.report),
                     {{"Run", run_markup(run)},
                      {"What limited it", findings_markup(run)},
                      {"Remarks", remarks_markup(run)},
                      {"Parameters", parameters_markup(run)},
                      {"Results", results_markup(run.report)},
                      {"Metrics", figures_markup(run.report) + metric_charts(runs)},
                      {"Single LPs", lp_markup(run)},
                      {"Tables", tables_markup(run)},
                      {"Pictures", pictures_markup(run.pictures)},
                      {"The engine over time", engine_markup(run.report, runs)}});
}

}  // namespace orrery::page
