// SPDX-License-Identifier: Apache-2.0
//
// orrery describe MODEL --measure: runs the model for a while and shows, for each kind of edge, the
// smallest measured delay beside the declared delay, and for each event type the duration that it
// could have.
#include "cli/measure.h"

#include <fmt/format.h>
#include <unistd.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/standard_output.h"
#include "core/duration_text.h"
#include "orrery/error.h"
#include "output/edge_view.h"
#include "output/number_text.h"
#include "output/text_table.h"
#include "output/watch.h"
#include "run/containment/faults.h"
#include "run/options/model_checks.h"
#include "run/survey/survey_run.h"

namespace orrery::cli {
namespace {

/// The limits of a run without --until, since the model's own horizon may be far: enough for all
/// kinds of edges of most models, in a few seconds. With --until the run has no other limits.
constexpr SurveyLimits kShortRun{1'000'000, 10.0};
constexpr SurveyLimits kWholeRun{std::numeric_limits<std::uint64_t>::max(),
                                 std::numeric_limits<double>::infinity()};

Watch::Settings watch_settings(const Model& model, const RunOptions& options, bool quiet) {
  Watch::Settings settings;
  settings.tick_seconds = model.tick_seconds();
  settings.horizon_seconds = static_cast<double>(options.until.ticks()) * settings.tick_seconds;
  settings.show_progress = !quiet;
  return settings;
}

const char* end_text(RunEnd end) {
  switch (end) {
    case RunEnd::interrupted:
      return ", then it was interrupted";
    case RunEnd::fault:
      return ", then it failed";
    case RunEnd::paused:
      return ", the limit without --until";
    default:
      return "";
  }
}

std::string delay_cell(const std::optional<Duration>& delay, const Model& model) {
  return delay ? duration_text(*delay, model.tick_seconds()) : "-";
}

/// Nothing if no event could last for any time.
std::string durations_text(const Model& model, const std::vector<EventDelays>& delays,
                           const Terminal& terminal) {
  using Align = TextTable::Align;
  TextTable table({{"LP"},
                   {"event"},
                   {"events", Align::right},
                   {"delay to itself", Align::right},
                   {"to others", Align::right},
                   {"duration now", Align::right},
                   {"could be", Align::right}});
  bool some = false;
  for (const EventDelays& one : delays) {
    some |= one.longest().value_or(Duration::zero()) > Duration::zero();
    table.add({one.lp, one.event, grouped(one.events), delay_cell(one.to_itself, model),
               delay_cell(one.to_others, model), delay_cell(one.duration, model),
               delay_cell(one.longest(), model)});
  }
  if (!some) return "";
  return fmt::format(
      "\n{} (schedule_expanded; smallest delays of the sends of each event)\n{}"
      "These are observations of one run and no proof: a duration needs a reason why no effect of "
      "the event comes sooner. '-': these events sent nothing.\n",
      terminal.bold("Durations that events could have"), table.text(terminal));
}

nlohmann::ordered_json durations_json(const std::vector<EventDelays>& delays) {
  const auto ticks = [](const std::optional<Duration>& delay) {
    return delay ? nlohmann::ordered_json(delay->ticks()) : nlohmann::ordered_json();
  };
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const EventDelays& one : delays)
    json.push_back({{"lp", one.lp},
                    {"event", one.event},
                    {"events", one.events},
                    {"to_itself_ticks", ticks(one.to_itself)},
                    {"to_others_ticks", ticks(one.to_others)},
                    {"duration_ticks", one.duration.ticks()},
                    {"could_be_ticks", ticks(one.longest())}});
  return json;
}

void show(const ChosenModel& chosen, const RunOptions& options, const SurveyResult& result) {
  const Terminal terminal = Terminal::of(STDOUT_FILENO);
  const std::string horizon = time_text(*chosen.model, options.until);
  const double reached_seconds =
      static_cast<double>(result.reached.ticks()) * chosen.model->tick_seconds();
  const bool whole = result.end == RunEnd::completed;
  print_out("{}: {} events, {} simulated{}\n\n", terminal.bold(chosen.name), grouped(result.events),
            whole ? horizon : rounded_time_text(reached_seconds) + " of " + horizon,
            end_text(result.end));
  const std::string table = edge_table(*chosen.model, result.edges, terminal);
  print_out("{}{}{}\n", table, table.empty() ? "" : "\n", result.conclusion);
  print_out("{}", durations_text(*chosen.model, result.delays, terminal));
  if (result.breaches.empty()) return;
  print_out("\n{}\n", terminal.bold("Broken promises"));
  for (const std::string& sentence : result.breaches) print_out("  {}\n", sentence);
  if (result.broken > result.breaches.size())
    print_out("  and {} more\n", grouped(result.broken - result.breaches.size()));
}

void show_json(const ChosenModel& chosen, const RunOptions& options, const SurveyResult& result) {
  nlohmann::ordered_json json = {{"model", chosen.name},
                                 {"complete", result.end == RunEnd::completed},
                                 {"seed", options.seed},
                                 {"events", result.events},
                                 {"reached_ticks", result.reached.ticks()},
                                 {"until_ticks", options.until.ticks()},
                                 {"tick_seconds", chosen.model->tick_seconds()},
                                 {"edges", edges_json(*chosen.model, result.edges)},
                                 {"durations", durations_json(result.delays)},
                                 {"conclusion", result.conclusion},
                                 {"broken", result.broken},
                                 {"breaches", result.breaches}};
  if (!result.fault.empty()) json["fault"] = result.fault;
  print_out("{}\n", json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

}  // namespace

int measure(const RunRequest& request, const OutputRequest& output) {
  require_standard_output();
  const ChosenModel chosen = choose_model(request);
  prepare_model(*chosen.model, read_seed(request));
  RunOptions options = read_options(request, *chosen.model);
  const SurveyLimits& limits = options.until == Time::max() ? kShortRun : kWholeRun;
  if (options.until == Time::max()) options.until = horizon_of(*chosen.model);

  RunControl control;
  Watch watch(control, watch_settings(*chosen.model, options, output.quiet));
  const SurveyResult result = survey_run(*chosen.model, options, limits, control);
  watch.stop();
  if (output.json) {
    show_json(chosen, options, result);
  } else {
    show(chosen, options, result);
  }
  flush_out();
  if (result.end == RunEnd::fault) throw ModelFault(result.fault);
  if (result.broken > 0) throw ModelFault(result.conclusion);
  return result.end == RunEnd::interrupted ? kExitSignal + watch.signal() : kExitOk;
}

}  // namespace orrery::cli
