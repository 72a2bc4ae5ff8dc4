// SPDX-License-Identifier: Apache-2.0
#include "cli/director_net.h"

#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <ctime>

#include "cli/command.h"
#include "cli/director_output.h"
#include "cli/standard_output.h"
#include "orrery/error.h"
#include "output/number_text.h"
#include "output/text_table.h"

#ifdef ORRERY_HAVE_LAB
#include "director/net/control.h"
#include "director/net/net_run.h"
#endif

namespace orrery::cli {

#ifndef ORRERY_HAVE_LAB

namespace {
[[noreturn]] void refuse() {
  throw UsageError(
      "this build has no networks of machines, since OpenSSL was not found (package libssl-dev)");
}
}  // namespace
int run_director_net(const NetRequest&, const sigset_t&) {
  refuse();
}
int run_director_set(std::span<const std::string>) {
  refuse();
}

#else

namespace {

using director::ControlWord;
using director::NetRun;
using MachineViews = std::vector<NetRun::MachineView>;

constexpr timespec kLookEvery{.tv_sec = 0, .tv_nsec = 100'000'000};

// --- output
// -----------------------------------------------------------------------------------------------

/// Virtual over real time.
double pace_of(const NetRun::MachineView& view, const director::Figures& figures) {
  return seconds(view.virtual_time) / std::max(seconds(figures.elapsed), 1e-9);
}

std::string machine_table(const MachineViews& views, const director::Figures& figures,
                          const Terminal& terminal, std::size_t most) {
  using Align = TextTable::Align;
  TextTable table({{"machine"},
                   {"virtual time", Align::right},
                   {"consumed", Align::right},
                   {"virtual/real", Align::right},
                   {"sent", Align::right},
                   {"arrived", Align::right},
                   {"lost", Align::right},
                   {""}});
  const std::size_t shown = most == 0 ? views.size() : std::min(most, views.size());
  for (const NetRun::MachineView& view : std::span(views).first(shown))
    table.add({view.name, fmt::format("{:.3f} s", seconds(view.virtual_time)),
               fmt::format("{:.3f} s", seconds(view.consumed)),
               fmt::format("{:.3f}", pace_of(view, figures)), grouped(view.frames.sent),
               grouped(view.frames.arrived), grouped(view.frames.lost),
               view.ended.empty() ? "" : "ended"});
  std::string text = table.text(terminal);
  if (shown < views.size()) text += fmt::format("  and {} more\n", views.size() - shown);
  return text;
}

std::string late_text(const director::SpreadCounts& late) {
  if (late.samples() == 0) return "no frame has arrived\n";
  const auto span = [](double microseconds) { return span_text(microseconds * 1e-6); };
  return fmt::format("{} frames have arrived, late by {} in the median, {} in 1 %, {} at most\n",
                     grouped(late.samples()), span(late.quantile(0.5)), span(late.quantile(0.99)),
                     span(late.most()));
}

std::string summary_text(NetRun& run, const director::Orders& orders) {
  const director::Figures figures = run.director().figures();
  std::string text = course_text(run.director(), orders);
  text += machine_table(run.views(), figures, Terminal::of(STDOUT_FILENO), 0);
  text += spread_text(figures, orders.tick) + late_text(run.network().late);
  if (!orders.only_watch)
    text +=
        "Clocks in the machines are this machine's: sleeps and timeouts in them are real time.\n";
  return text;
}

nlohmann::ordered_json json_of(NetRun& run, const director::Orders& orders) {
  const director::Figures figures = run.director().figures();
  nlohmann::ordered_json machines = nlohmann::ordered_json::array();
  for (const NetRun::MachineView& view : run.views())
    machines.push_back({{"name", view.name},
                        {"accelerator", view.accelerator},
                        {"processors", view.processors},
                        {"weight", view.weight},
                        {"virtual_seconds", seconds(view.virtual_time)},
                        {"consumed_seconds", seconds(view.consumed)},
                        {"virtual_over_real", pace_of(view, figures)},
                        {"frames_sent", view.frames.sent},
                        {"frames_arrived", view.frames.arrived},
                        {"frames_lost", view.frames.lost},
                        {"ended", view.ended}});
  const director::Switchboard::Counts network = run.network();
  nlohmann::ordered_json json = figures_json(run.director(), orders);
  json["paused"] = run.is_paused();
  json["pace"] = run.pace();
  json["late_microseconds"] = spread_json(network.late);
  json["refused_frames"] = network.refused;
  json["machines"] = std::move(machines);
  return json;
}

// --- settings while it runs
// ---------------------------------------------------------------------------------

bool read_yes_or_no(const ControlWord& word) {
  if (word.value == "yes") return true;
  if (word.value == "no") return false;
  throw UsageError(fmt::format("'{}' is yes or no, not '{}'", word.name, word.value));
}

double read_number(const ControlWord& word, double least, double most) {
  const std::optional<double> value = parse_share(word.value);
  if (value && *value >= least && *value <= most) return *value;
  throw UsageError(fmt::format("'{}' is a number from {} to {}, such as {} or 50%, not '{}'",
                               word.name, least, most, most / 2, word.value));
}

/// Changes one setting.
void apply(const ControlWord& word, NetRun& run, director::Orders& orders) {
  constexpr std::string_view kWeight = "weight.";
  if (word.name == "tick") {
    orders.tick = read_tick("tick", word.value);
    run.director().change({.tick = orders.tick});
  } else if (word.name == "ceiling") {
    run.director().change({.ceiling = read_ceiling("ceiling", word.value)});
  } else if (word.name == "pause") {
    run.pause(read_yes_or_no(word));
  } else if (word.name == "pace") {
    run.set_pace(read_number(word, 0.01, 1));
  } else if (word.name.starts_with(kWeight)) {
    run.set_weight(word.name.substr(kWeight.size()), read_number(word, 0.01, 100));
  } else {
    throw UsageError(
        fmt::format("there is no setting '{}'; there are tick, ceiling, weight.MACHINE, pause and "
                    "pace, and 'status', which changes nothing",
                    word.name));
  }
}

std::string answer(std::span<const ControlWord> words, NetRun& run, director::Orders& orders) {
  for (const ControlWord& word : words) {
    const bool changes_scheduling = word.name == "tick" || word.name == "ceiling";
    if (orders.only_watch && changes_scheduling)
      throw UsageError(
          fmt::format("the machines are only watched, so '{}' means nothing", word.name));
    if (word.name != "status") apply(word, run, orders);
  }
  return json_text(json_of(run, orders));
}

// --- the run
// ------------------------------------------------------------------------------------------------

/// Shows how many machines are ready, on a terminal. Returns a signal that has come, or 0.
int wait_for_machines(NetRun& run, const NetRequest& request, const sigset_t& signals) {
  const bool shows = !request.quiet && Terminal::of(STDERR_FILENO).interactive;
  for (;;) {
    const std::size_t ready = run.wait_for_machines();
    if (shows) fmt::print(stderr, "\r{} of {} machines are ready\x1b[K", ready, run.machines());
    if (ready == run.machines()) break;
    if (const int signal = sigtimedwait(&signals, nullptr, &kLookEvery); signal > 0) return signal;
  }
  if (shows) fmt::print(stderr, "\r\x1b[K");
  return 0;
}

int go_on(NetRun& run, director::Orders& orders, const NetRequest& request, const sigset_t& signals,
          SampleFile& file, LiveTable& table) {
  director::ControlServer control(request.folder);
  for (unsigned turn = 0;; ++turn) {
    const int signal = sigtimedwait(&signals, nullptr, &kLookEvery);
    if (signal > 0) return signal;
    const bool goes_on = run.look();
    for (const std::string& ended : run.newly_ended()) {
      table.erase();
      fmt::print(stderr, "orrery: {}; the others go on\n", ended);
    }
    if (!goes_on) return 0;
    control.serve([&](std::span<const ControlWord> words) { return answer(words, run, orders); });
    file.take(run.director());
    if (turn % 5 != 4) continue;
    table.draw([&](const Terminal& terminal, std::size_t room) {
      const director::Figures figures = run.director().figures();
      return machine_table(run.views(), figures, terminal, room) + short_spread_text(figures);
    });
  }
}

}  // namespace

int run_director_net(const NetRequest& request, const sigset_t& signals) {
  director::Orders orders = request.orders;
  OutputFolder folder(request.folder, kReportName, request.force);
  SampleFile file(request.csv, request.force);
  NetRun run({.director = orders,
              .description = request.description,
              .folder = request.folder,
              .seed = request.seed});
  if (const int signal = wait_for_machines(run, request, signals); signal > 0)
    return kExitSignal + signal;
  LiveTable table(request.quiet);
  run.begin();
  if (!run.director().ceiling_reason().empty() && !request.quiet)
    fmt::print(stderr, "orrery: the ceiling is {}, since {}\n",
               percent_text(run.director().ceiling()), run.director().ceiling_reason());
  const int signal = go_on(run, orders, request, signals, file, table);
  run.stop();
  table.erase();
  file.publish(run.director());
  const std::string json = json_text(json_of(run, orders));
  write_out(request.json ? json : summary_text(run, orders));
  flush_out();
  folder.publish(json);
  return signal == 0 ? kExitOk : kExitSignal + signal;
}

int run_director_set(std::span<const std::string> words) {
  if (words.size() < 2)
    throw UsageError(
        "'orrery director set' needs the folder of a running director and settings, as in 'orrery "
        "director set results/net tick=2ms', or 'status'");
  write_out(director::ask_director(words.front(), words.subspan(1)));
  flush_out();
  return kExitOk;
}

#endif

}  // namespace orrery::cli
