// SPDX-License-Identifier: Apache-2.0
//
// orrery director: directs the threads of other processes by least virtual time, or watches how the
// system schedules them. Turns options into orders; companions/director directs the threads,
// director_output.h has what is shown, and director_net.h the machines that the command starts itself.
#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <ctime>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/director_net.h"
#include "cli/director_output.h"
#include "cli/standard_output.h"
#include "core/duration_text.h"
#include "director/director.h"
#include "director/groups.h"
#include "orrery/error.h"
#include "output/number_text.h"
#include "run/options/option_forms.h"

namespace orrery::cli {
namespace {

using director::Director;
using director::Nanoseconds;
using director::Orders;

constexpr double kNanosecond = 1e-9;

struct DirectorRequest {
  std::vector<std::string> processes;
  std::vector<std::string> words;  ///< "net FILE", "set DIR NAME=VALUE ..."
  std::string group, pattern, tick, ceiling, duration, csv, folder, seed;
  bool watch = false, force = false, json = false, quiet = false;
};

// --- options
// ---------------------------------------------------------------------------------------

Nanoseconds read_duration(const std::string& text) {
  if (text.empty()) return 0;
  return option_forms::read_positive_ticks({"--duration", text, kNanosecond}, kNanosecond);
}

Orders read_orders(const DirectorRequest& request) {
  Orders orders;
  for (const std::string& text : request.processes)
    orders.selection.processes.push_back(
        static_cast<pid_t>(option_forms::read_count("--pid", text, 1, INT32_MAX)));
  if (!request.group.empty()) orders.selection.group = director::folder_of_group(request.group);
  orders.selection.pattern = request.pattern;
  if (!request.tick.empty()) orders.tick = read_tick("--tick", request.tick);
  if (!request.ceiling.empty()) orders.ceiling = read_ceiling("--ceiling", request.ceiling);
  orders.duration = read_duration(request.duration);
  orders.only_watch = request.watch;
  if (request.watch && !request.ceiling.empty())
    throw UsageError("--watch changes no scheduling, so --ceiling means nothing beside it");
  orders.keeps_samples = !request.csv.empty();
  return orders;
}

NetRequest read_net(const DirectorRequest& request) {
  if (request.words.size() != 2)
    throw UsageError(
        "'orrery director net' needs a file that describes machines and links, as in "
        "'orrery director net machines.toml'");
  if (!request.processes.empty() || !request.group.empty() || !request.pattern.empty())
    throw UsageError(
        "'orrery director net' directs the machines that it starts, so --pid, --cgroup "
        "and --threads mean nothing beside it");
  return {.orders = read_orders(request),
          .description = request.words[1],
          .folder = request.folder.empty() ? "results/net" : request.folder,
          .csv = request.csv,
          .seed = request.seed.empty()
                      ? 1
                      : option_forms::read_count("--seed", request.seed, 0, UINT64_MAX),
          .force = request.force,
          .json = request.json,
          .quiet = request.quiet};
}

// --- the command
// -----------------------------------------------------------------------------------

sigset_t ending_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) sigaddset(&signals, signal);
  return signals;
}

std::string summary_text(Director& director, const Orders& orders) {
  const director::Figures figures = director.figures();
  return course_text(director, orders) +
         thread_table(director.views(), figures, !orders.only_watch, Terminal::of(STDOUT_FILENO),
                      0) +
         spread_text(figures, orders.tick);
}

std::string summary_json(Director& director, const Orders& orders) {
  nlohmann::ordered_json threads = nlohmann::ordered_json::array();
  for (const director::ThreadView& view : director.views()) {
    nlohmann::ordered_json one{{"process", view.id.process},
                               {"thread", view.id.thread},
                               {"process_name", view.process_name},
                               {"name", view.name},
                               {"is_helper", view.is_helper}};
    if (!view.is_helper) {
      one["virtual_seconds"] = seconds(view.virtual_time);
      one["consumed_seconds"] = seconds(view.consumed);
    }
    threads.push_back(std::move(one));
  }
  nlohmann::ordered_json json = figures_json(director, orders);
  json["threads"] = std::move(threads);
  return json_text(json);
}

/// Directs until no thread is left, the time is over, or a signal comes. Returns the signal, or 0.
int go_on(Director& director, const Orders& orders, SampleFile& file, LiveTable& table) {
  constexpr timespec kLookEvery{.tv_sec = 0, .tv_nsec = 100'000'000};
  const sigset_t signals = ending_signals();
  for (unsigned turn = 0;; ++turn) {
    const int signal = sigtimedwait(&signals, nullptr, &kLookEvery);
    if (signal > 0) return signal;
    if (!director.look()) return 0;
    file.take(director);
    if (turn % 5 != 4) continue;
    table.draw([&](const Terminal& terminal, std::size_t room) {
      const director::Figures figures = director.figures();
      return thread_table(director.views(), figures, !orders.only_watch, terminal, room) +
             short_spread_text(figures);
    });
  }
}

constexpr Entry kDirectorFiles[] = {
    {"FILE",
     "With --csv: time, thread, name, virtual time, consumed time and state, a line for each "
     "thread and tick. It is named FILE.part until it is complete."},
    {"DIR",
     "Of 'net': report.json; for each machine the folder NAME with its console and what QEMU said, "
     "and NAME-ethN.pcap with the frames of each card in virtual time; and the socket of 'set'."},
};

constexpr CommandText kDirectorText = {
    .name = "director",
    .summary = "Direct processes or virtual machines by least virtual time, or watch them",
    .operands = "[net MACHINES.toml | set DIR NAME=VALUE...] [OPTIONS]",
    .prose =
        R"(For simulators that cannot be changed, and virtual machines (QEMU with debug-threads=on) with more
threads than cores. At each tick of a millisecond the director lets the threads run that have consumed
the least time, as real-time threads. The command needs the right to set real-time priorities (root,
or CAP_SYS_NICE and CAP_PERFMON). When the command ends in any way, all threads get their old
scheduling back.

'net' starts the virtual machines of a description, with links and switches between them, directs them,
and delays their frames in virtual time (companions/director/README.md). 'set' changes a running 'net':
tick, ceiling, weight.MACHINE, pause=yes, pace=10%; 'status' prints its state.)",
    .examples = R"(orrery director --pid 4711 --pid 4712
orrery director --cgroup machines --csv times.csv
orrery director --cgroup machines --watch --duration 10s    the system's own scheduling
orrery director --pid 4711 --threads 'worker*' --tick 2ms --ceiling 50%
orrery director net machines.toml --duration 60s --out results/machines
orrery director set results/machines tick=5ms weight.server=2)",
    .files = kDirectorFiles};

class DirectorCommand final : public Command {
 public:
  DirectorCommand() : Command(kDirectorText) {}

  void declare(OptionTable& options) override {
    options.operands("WORDS", request_.words,
                     "'net' and a description of machines, or 'set', a folder and settings");
    options.values("--pid", request_.processes, "N",
                   "Process whose threads are directed; may be repeated");
    options.value(
        "--cgroup", request_.group, "NAME",
        "All processes of this control group, of version 1 or 2, and those that come into "
        "it");
    options.value(
        "--threads", request_.pattern, "PATTERN",
        "Direct threads with such names, as in a shell; the others of their processes are "
        "helpers (virtual processors; of a process without such, all)");
    options.value("--tick", request_.tick, "TIME",
                  "Time between two scheduling decisions, 100us to 100ms (1ms)");
    options.value("--ceiling", request_.ceiling, "SHARE",
                  "Largest share of each core for directed threads before all others, 5% to 95% "
                  "(90%)");
    options.value("--duration", request_.duration, "TIME",
                  "End after this time (when the processes end, or at Ctrl-C)");
    options.flag("--watch", request_.watch,
                 "Measure the system's own scheduling and change nothing; needs no rights");
    options.value("--csv", request_.csv, "FILE",
                  "Write the virtual time of each thread at each tick");
    options.value("--out", request_.folder, "DIR", "With net: folder of the results (results/net)");
    options.value("--seed", request_.seed, "N", "With net: of losses and jitter (1)");
    options.flag("--force", request_.force, "Replace that file, and results of an earlier run");
    options.flag("--json", request_.json, "Print the summary as JSON");
    options.flag("--quiet", request_.quiet, "Show no table while the director runs");
  }

  int run(OptionTable&, const Invocation&) override {
    const std::string verb = request_.words.empty() ? "" : request_.words[0];
    if (verb == "set") return run_director_set(std::span(request_.words).subspan(1));
    if (!verb.empty() && verb != "net")
      throw UsageError(fmt::format("'orrery director' has 'net' and 'set', not '{}'", verb));
    require_standard_output();
    // Block the signals before any thread or process is started, which a signal would otherwise
    // end.
    const sigset_t signals = ending_signals();
    sigset_t before;
    pthread_sigmask(SIG_BLOCK, &signals, &before);
    const int code = verb == "net" ? run_director_net(read_net(request_), signals) : direct();
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return code;
  }

 private:
  int direct() {
    if (request_.processes.empty() && request_.group.empty())
      throw UsageError(
          "'orrery director' needs processes: --pid NUMBER, which may be repeated, or --cgroup "
          "NAME; "
          "or 'net' and a description of machines");
    if (!request_.folder.empty() || !request_.seed.empty())
      throw UsageError("--out and --seed are for 'orrery director net'");
    const Orders orders = read_orders(request_);
    SampleFile file(request_.csv, request_.force);
    Director director(orders);
    if (!director.ceiling_reason().empty() && !request_.quiet)
      fmt::print(stderr, "orrery: the ceiling is {}, since {}\n", percent_text(director.ceiling()),
                 director.ceiling_reason());
    LiveTable table(request_.quiet);
    director.start();
    const int signal = go_on(director, orders, file, table);
    director.stop();
    table.erase();
    file.publish(director);
    write_out(request_.json ? summary_json(director, orders) : summary_text(director, orders));
    flush_out();
    return signal == 0 ? kExitOk : kExitSignal + signal;
  }

  DirectorRequest request_;
};

const CommandEntry kDirectorEntry(11, make_command<DirectorCommand>);

}  // namespace

Nanoseconds read_tick(const std::string& name, const std::string& text) {
  const std::optional<Duration> tick = parse_duration(text, kNanosecond);
  if (tick && tick->ticks() >= Orders::kLeastTick && tick->ticks() <= Orders::kMostTick)
    return tick->ticks();
  throw UsageError(fmt::format("{} needs a time from 100us to 100ms, not '{}'", name, text));
}

std::optional<double> parse_share(const std::string& text) {
  std::string number = text;
  const bool is_percent = number.ends_with('%');
  if (is_percent) number.pop_back();
  char* end = nullptr;
  const double value = std::strtod(number.c_str(), &end) / (is_percent ? 100 : 1);
  if (end == number.c_str() ||
      std::string_view(end).find_first_not_of(' ') != std::string_view::npos)
    return {};
  return value;
}

double read_ceiling(const std::string& name, const std::string& text) {
  const std::optional<double> value = parse_share(text);
  if (value && *value >= Orders::kLeastCeiling && *value <= Orders::kMostCeiling) return *value;
  throw UsageError(
      fmt::format("{} needs a share from 5% to 95%, such as 90% or 0.9, not '{}'", name, text));
}

}  // namespace orrery::cli
