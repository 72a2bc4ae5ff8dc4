// SPDX-License-Identifier: Apache-2.0
//
// orrery director: directs the threads of other processes by least virtual time, or watches how the
// system schedules them. Turns options into orders, and shows and writes the samples; companions/director
// directs the threads.
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/standard_output.h"
#include "core/duration_text.h"
#include "core/format_into.h"
#include "director/director.h"
#include "director/groups.h"
#include "orrery/error.h"
#include "output/csv.h"
#include "output/number_text.h"
#include "output/output_folder.h"
#include "output/terminal.h"
#include "output/text_table.h"
#include "run/options/option_forms.h"

namespace orrery::cli {
namespace {

namespace fs = std::filesystem;
using director::Director;
using director::Figures;
using director::Nanoseconds;
using director::Orders;
using director::Sample;
using director::ThreadView;
using director::Turn;

constexpr double kNanosecond = 1e-9;

struct DirectorRequest {
  std::vector<std::string> processes;
  std::string group, pattern, tick, ceiling, duration, csv;
  bool watch = false, force = false, json = false, quiet = false;
};

double seconds(Nanoseconds time) {
  return double(time) * kNanosecond;
}

// --- options
// ---------------------------------------------------------------------------------------

Nanoseconds read_tick(const std::string& text) {
  if (text.empty()) return Orders{}.tick;
  const std::optional<Duration> tick = parse_duration(text, kNanosecond);
  if (tick && tick->ticks() >= Orders::kLeastTick && tick->ticks() <= Orders::kMostTick)
    return tick->ticks();
  throw UsageError(fmt::format("--tick needs a time from 100us to 100ms, not '{}'", text));
}

double read_ceiling(const std::string& text) {
  if (text.empty()) return Orders{}.ceiling;
  std::string number = text;
  const bool is_percent = number.ends_with('%');
  if (is_percent) number.pop_back();
  char* end = nullptr;
  const double value = std::strtod(number.c_str(), &end) / (is_percent ? 100 : 1);
  const bool is_number = end != number.c_str() &&
                         std::string_view(end).find_first_not_of(' ') == std::string_view::npos;
  if (is_number && value >= Orders::kLeastCeiling && value <= Orders::kMostCeiling) return value;
  throw UsageError(
      fmt::format("--ceiling needs a share from 5% to 95%, such as 90% or 0.9, not "
                  "'{}'",
                  text));
}

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
  if (orders.selection.processes.empty() && orders.selection.group.empty())
    throw UsageError(
        "'orrery director' needs processes: --pid NUMBER, which may be repeated, or --cgroup NAME");
  orders.selection.pattern = request.pattern;
  orders.tick = read_tick(request.tick);
  orders.ceiling = read_ceiling(request.ceiling);
  orders.duration = read_duration(request.duration);
  orders.only_watch = request.watch;
  if (request.watch && !request.ceiling.empty())
    throw UsageError("--watch changes no scheduling, so --ceiling means nothing beside it");
  orders.keeps_samples = !request.csv.empty();
  return orders;
}

// --- output
// ---------------------------------------------------------------------------------

std::string ticks_text(double ticks) {
  return fmt::format("{:.2f}", ticks);
}

std::string state_of(const ThreadView& view, bool is_directed) {
  if (view.is_helper) return view.is_punished ? "helper, held back" : "helper";
  if (!view.is_runnable) return "idle";
  if (!is_directed) return "runnable";
  return view.turn == Turn::running   ? "running"
         : view.turn == Turn::standby ? "standby"
                                      : "waiting";
}

/// The process's name, followed by the thread's name if that differs.
std::string label_of(const ThreadView& view) {
  return view.name == view.process_name ? view.name : view.process_name + ": " + view.name;
}

/// Directed threads, the least virtual time first. `most`: rows at most, 0 for all.
std::string thread_table(std::vector<ThreadView> views, const Figures& figures, bool is_directed,
                         const Terminal& terminal, std::size_t most) {
  const std::size_t helpers = std::erase_if(
      views, [](const ThreadView& view) { return view.is_helper && !view.is_punished; });
  std::stable_sort(views.begin(), views.end(), [](const ThreadView& a, const ThreadView& b) {
    return std::pair(a.is_helper, a.virtual_time) < std::pair(b.is_helper, b.virtual_time);
  });
  const std::size_t left_out = most > 0 && views.size() > most ? views.size() - most : 0;
  views.resize(views.size() - left_out);
  using Align = TextTable::Align;
  TextTable table({{"thread"},
                   {"number", Align::right},
                   {"virtual time", Align::right},
                   {"consumed", Align::right},
                   {"share", Align::right},
                   {"state"}});
  for (const ThreadView& view : views) {
    if (view.is_helper) {
      table.add({label_of(view), std::to_string(view.id.thread), "", "", "", state_of(view, true)});
      continue;
    }
    const double elapsed = std::max(seconds(figures.elapsed), kNanosecond);
    table.add({label_of(view), std::to_string(view.id.thread),
               fmt::format("{:.3f} s", seconds(view.virtual_time)),
               fmt::format("{:.3f} s", seconds(view.consumed)),
               percent_text(seconds(view.consumed) / elapsed), state_of(view, is_directed)});
  }
  std::string text = table.text(terminal);
  if (left_out > 0) text += fmt::format("  and {} more\n", left_out);
  if (helpers > 0) text += fmt::format("  and {} helper{}\n", helpers, helpers == 1 ? "" : "s");
  return text;
}

std::string spread_text(const Figures& figures, Nanoseconds tick) {
  if (figures.spreads.samples() == 0) return "no two threads wanted to run at the same time\n";
  const auto both = [&](double ticks) {
    return fmt::format("{} ticks ({})", ticks_text(ticks), span_text(ticks * seconds(tick)));
  };
  return fmt::format("spread over {} samples: median {}, p99 {}, largest {}\n",
                     grouped(figures.spreads.samples()), both(figures.spreads.quantile(0.5)),
                     both(figures.spreads.quantile(0.99)), both(figures.spreads.most()));
}

/// A table that replaces itself on the terminal.
class LiveTable {
 public:
  explicit LiveTable(bool quiet) : terminal_(Terminal::of(STDERR_FILENO)) {
    shown_ = !quiet && terminal_.interactive;
  }

  ~LiveTable() { erase(); }

  void draw(Director& director, const Orders& orders) {
    if (!shown_) return;
    const Figures figures = director.figures();
    winsize size{};
    ioctl(STDERR_FILENO, TIOCGWINSZ, &size);
    const std::size_t room = size.ws_row > 8 ? size.ws_row - 6U : 2U;
    std::string text = thread_table(director.views(), figures, !orders.only_watch, terminal_, room);
    // A line that the terminal wraps could not be erased.
    if (figures.spreads.samples() > 0)
      text += fmt::format("spread in ticks: median {}, p99 {}, largest {}\n",
                          ticks_text(figures.spreads.quantile(0.5)),
                          ticks_text(figures.spreads.quantile(0.99)),
                          ticks_text(figures.spreads.most()));
    const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
    fmt::print(stderr, "{}{}", erase_text(), text);
    std::fflush(stderr);
    lines_ = lines;
  }

  void erase() {
    if (lines_ == 0) return;
    fmt::print(stderr, "{}", erase_text());
    std::fflush(stderr);
    lines_ = 0;
  }

 private:
  std::string erase_text() const {
    return lines_ == 0 ? "" : fmt::format("\x1b[{}A\r\x1b[J", lines_);
  }
  Terminal terminal_;
  bool shown_ = false;
  std::size_t lines_ = 0;
};

// --- files
// ----------------------------------------------------------------------------------

/// A CSV file that has a temporary name until it is complete.
class SampleFile {
 public:
  SampleFile(const std::string& path, bool force) : path_(path) {
    std::error_code unknown;
    if (path.empty()) return;
    if (!force && fs::exists(path, unknown))
      throw UsageError(fmt::format("'{}' is there already; replace it with --force", path));
    file_.emplace(temporary());
    file_->write("time_s,thread,name,virtual_s,consumed_s,state\n");
  }
  ~SampleFile() {
    if (file_) std::remove(temporary().c_str());
  }
  SampleFile(const SampleFile&) = delete;
  SampleFile& operator=(const SampleFile&) = delete;

  /// `views` name the threads: a thread that came and went between two looks has only its number.
  void take(Director& director) {
    if (!file_) return;
    for (const ThreadView& view : director.views())
      if (!view.is_helper)
        columns_[view.number] = fmt::format("{},{}", view.id.thread, csv_text(label_of(view)));
    director.samples().take_all([this](const Sample& sample) { write(sample); });
  }

  void publish() {
    if (!file_) return;
    file_->finish();
    std::error_code error;
    fs::rename(temporary(), path_, error);
    if (error) throw UsageError(fmt::format("'{}' cannot be written: {}", path_, error.message()));
    file_.reset();
  }

 private:
  std::string temporary() const { return path_ + ".part"; }

  void write(const Sample& sample) {
    const auto found = columns_.find(sample.thread);
    const char* const state = !sample.is_runnable            ? "idle"
                              : sample.turn == Turn::running ? "running"
                              : sample.turn == Turn::standby ? "standby"
                                                             : "waiting";
    append_format(file_->buffer(), "{:.9f},{},{:.9f},{:.9f},{}\n", seconds(sample.at),
                  found == columns_.end() ? "," : found->second, seconds(sample.virtual_time),
                  seconds(sample.consumed), state);
    file_->write("");
  }

  std::string path_;
  std::optional<FileWriter> file_;
  std::map<std::uint32_t, std::string> columns_;
};

nlohmann::ordered_json spread_json(const director::SpreadCounts& counts) {
  return {{"samples", counts.samples()},    {"p50", counts.quantile(0.5)},
          {"p90", counts.quantile(0.9)},    {"p99", counts.quantile(0.99)},
          {"p999", counts.quantile(0.999)}, {"most", counts.most()}};
}

std::string json_text(Director& director, const Orders& orders) {
  const Figures figures = director.figures();
  nlohmann::ordered_json threads = nlohmann::ordered_json::array();
  for (const ThreadView& view : director.views()) {
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
  const nlohmann::ordered_json json{{"directed", !orders.only_watch},
                                    {"cores", director.cores()},
                                    {"tick_seconds", seconds(orders.tick)},
                                    {"ceiling", orders.only_watch ? 1 : director.ceiling()},
                                    {"seconds", seconds(figures.elapsed)},
                                    {"ticks", figures.ticks},
                                    {"missed_ticks", figures.missed_ticks},
                                    {"lost_samples", director.samples().lost()},
                                    {"spread_ticks", spread_json(figures.spreads)},
                                    {"delay_ticks", spread_json(figures.delays)},
                                    {"threads", std::move(threads)}};
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string summary_text(Director& director, const Orders& orders) {
  const Figures figures = director.figures();
  const std::vector<ThreadView> views = director.views();
  std::string text =
      fmt::format("{} for {} on {} core{}, tick {}{}\n", orders.only_watch ? "watched" : "directed",
                  span_text(seconds(figures.elapsed)), director.cores(),
                  director.cores() == 1 ? "" : "s", span_text(seconds(orders.tick)),
                  orders.only_watch ? "" : ", ceiling " + percent_text(director.ceiling()));
  text += thread_table(views, figures, !orders.only_watch, Terminal::of(STDOUT_FILENO), 0);
  text += spread_text(figures, orders.tick);
  text += fmt::format(
      "{} ticks, {} missed; the beat was late by {} in the median, by {} in 1 % of "
      "them, by {} at most\n",
      grouped(figures.ticks), grouped(figures.missed_ticks),
      span_text(figures.delays.quantile(0.5) * seconds(orders.tick)),
      span_text(figures.delays.quantile(0.99) * seconds(orders.tick)),
      span_text(figures.delays.most() * seconds(orders.tick)));
  return text;
}

// --- the command
// -----------------------------------------------------------------------------------

sigset_t ending_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) sigaddset(&signals, signal);
  return signals;
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
    if (turn % 5 == 4) table.draw(director, orders);
  }
}

constexpr Entry kDirectorFiles[] = {
    {"FILE",
     "With --csv: time, thread, name, virtual time, consumed time and state, a line for each "
     "thread and tick. It is named FILE.part until it is complete."},
};

constexpr CommandText kDirectorText = {
    .name = "director",
    .summary = "Direct processes or virtual machines by least virtual time, or watch them",
    .operands = "[OPTIONS]",
    .prose =
        R"(For simulators that cannot be changed, and virtual machines (QEMU with debug-threads=on) with more
threads than cores. At each tick of a millisecond the director lets the threads run that have consumed
the least time, as real-time threads. The command needs the right to set real-time priorities (root,
or CAP_SYS_NICE). When the command ends in any way, all threads get their old scheduling back.)",
    .examples = R"(orrery director --pid 4711 --pid 4712
orrery director --cgroup machines --csv times.csv
orrery director --cgroup machines --watch --duration 10s    the system's own scheduling
orrery director --pid 4711 --threads 'worker*' --tick 2ms --ceiling 50%)",
    .files = kDirectorFiles};

class DirectorCommand final : public Command {
 public:
  DirectorCommand() : Command(kDirectorText) {}

  void declare(OptionTable& options) override {
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
    options.flag("--force", request_.force, "Replace that file");
    options.flag("--json", request_.json, "Print the summary as JSON");
    options.flag("--quiet", request_.quiet, "Show no table while the director runs");
  }

  int run(OptionTable&, const Invocation&) override {
    require_standard_output();
    const Orders orders = read_orders(request_);
    SampleFile file(request_.csv, request_.force);
    // Block the signals before any thread or process is started, which a signal would otherwise
    // end.
    const sigset_t signals = ending_signals();
    sigset_t before;
    pthread_sigmask(SIG_BLOCK, &signals, &before);
    Director director(orders);
    if (!director.ceiling_reason().empty() && !request_.quiet)
      fmt::print(stderr, "orrery: the ceiling is {}, since {}\n", percent_text(director.ceiling()),
                 director.ceiling_reason());
    LiveTable table(request_.quiet);
    director.start();
    const int signal = go_on(director, orders, file, table);
    director.stop();
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    table.erase();
    file.take(director);
    file.publish();
    if (director.samples().lost() > 0)
      fmt::print(stderr, "orrery: {} samples are not in '{}', which could not be written as fast\n",
                 grouped(director.samples().lost()), request_.csv);
    write_out(request_.json ? json_text(director, orders) : summary_text(director, orders));
    flush_out();
    return signal == 0 ? kExitOk : kExitSignal + signal;
  }

 private:
  DirectorRequest request_;
};

const CommandEntry kDirectorEntry(11, make_command<DirectorCommand>);

}  // namespace
}  // namespace orrery::cli
