// SPDX-License-Identifier: Apache-2.0
#include "page/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "output/number_text.h"
#include "page/progress.h"

namespace orrery::page {
namespace {

// Shares from which on a finding is shown.
constexpr double kNotable = 0.1;
constexpr double kNotableRollbacks = 0.05, kMostlyRollbacks = 0.5;
constexpr double kNotableTrials = 0.03;
constexpr double kFewInWindow = 100;  // events of a worker
constexpr double kMostly = 0.5;
constexpr double kShortLoopSeconds = 0.1;  // rates over a shorter time are not reliable
constexpr double kShortEventSeconds = 1e-6;
constexpr double kStandstillSeconds = 1;
constexpr double kChangedRate = 2;  // the larger over the smaller
constexpr double kNearBudget = 0.9;
constexpr std::size_t kTrendPoints = 8;  // samples that a change over time needs

struct Facts {
  explicit Facts(const Json& json) : report(json) {
    const auto number = [&](Path path) { return number_at(json, path).value_or(0); };
    engine = text_at(json, {"options", "engine"});
    workers = number({"run", "workers"});
    ranks = std::max(1.0, number({"run", "ranks"}));
    committed = number({"run", "committed"});
    executed = number({"run", "executed"});
    startup = number({"run", "seconds", "startup"});
    loop = number({"run", "seconds", "loop"});
    shutdown = number({"run", "seconds", "shutdown"});
    wall = number({"run", "seconds", "wall"});
  }

  const Json& report;
  std::string engine;
  double workers, ranks, committed, executed, startup, loop, shutdown, wall;
};

std::string whole(double number) {
  return grouped(static_cast<std::uint64_t>(std::max(0.0, std::round(number))));
}

std::string share_text(double part, double all) {
  return percent_text(part / all);
}

std::string plural(double count, const char* noun) {
  return fmt::format("{} {}{}", whole(count), noun, count == 1 ? "" : "s");
}

/// The full name of a statistic; empty if the report has none of that name.
std::string statistic_name(const Json& report, const std::string& name) {
  const Json& all = at(report, {"statistics"});
  if (!all.is_object()) return "";
  if (all.contains(name)) return name;
  for (const auto& [full, value] : all.items())
    if (full.ends_with("." + name)) return full;
  return "";
}

std::string place(const Facts& facts, const std::string& name) {
  return "statistics." + statistic_name(facts.report, name);
}

using Findings = std::vector<Finding>;

void judge_start_and_end(const Facts& f, Findings& all) {
  if (f.wall <= 0) return;
  if (f.startup / f.wall >= kNotable && f.wall >= kShortLoopSeconds)
    all.push_back(
        {fmt::format("The run spent {} of its wall time ({} of {}) before the first "
                     "event, on making LPs. Longer runs spend it only once.",
                     share_text(f.startup, f.wall), span_text(f.startup), span_text(f.wall)),
         {"run.seconds.startup", "run.seconds.wall"}});
  if (f.shutdown / f.wall >= kNotable && f.wall >= kShortLoopSeconds)
    all.push_back(
        {fmt::format("The run spent {} of its wall time ({} of {}) after the last event, "
                     "on finishing and removing LPs.",
                     share_text(f.shutdown, f.wall), span_text(f.shutdown), span_text(f.wall)),
         {"run.seconds.shutdown", "run.seconds.wall"}});
}

void judge_length(const Facts& f, Findings& all) {
  if (f.loop <= 0 || f.loop >= kShortLoopSeconds) return;
  all.push_back({fmt::format("The loop took only {}: rates of so short a run are not reliable. "
                             "Use a later --until.",
                             span_text(f.loop)),
                 {"run.seconds.loop"}});
}

void judge_rollbacks(const Facts& f, Findings& all) {
  const auto rollbacks = statistic(f.report, "rollbacks");
  if (!rollbacks || f.executed <= 0) return;
  const double undone = f.executed - f.committed, share = undone / f.executed;
  const std::vector<std::string> figures = {"run.executed", "run.committed", place(f, "rollbacks")};
  std::string text =
      fmt::format("{} of executed events were rolled back ({} of {}, in {}).", percent_text(share),
                  whole(undone), whole(f.executed), plural(*rollbacks, "rollback"));
  if (share < kNotableRollbacks) {
    if (f.workers > 1) all.push_back({"Rollbacks did not limit the run: " + text, figures});
    return;
  }
  if (share >= kMostlyRollbacks)
    text +=
        " More events were undone than committed: fewer --workers, or --engine "
        "sequential, may be faster.";
  else
    text +=
        " A --window bounds how far workers execute ahead, and 'orrery compare' shows what "
        "fewer --workers would do.";
  all.push_back({text, figures});
}

void judge_coasting(const Facts& f, Findings& all) {
  const auto coasted = statistic(f.report, "coasted");
  if (!coasted || f.executed <= 0 || *coasted / f.executed < kNotable) return;
  std::string text =
      fmt::format("{} were executed again to restore states, {} on top of those executed",
                  plural(*coasted, "event"), share_text(*coasted, f.executed));
  std::vector<std::string> figures = {place(f, "coasted"), "run.executed"};
  if (const auto interval = statistic(f.report, "checkpoint_interval")) {
    text +=
        fmt::format(", with {:.3g} events from one checkpoint to the next at the end", *interval);
    figures.push_back(place(f, "checkpoint_interval"));
  }
  all.push_back({text + ". Closer checkpoints (--checkpoint periodic:N) repeat less.", figures});
}

void judge_windows(const Facts& f, Findings& all) {
  const auto windows = statistic(f.report, "windows");
  if (f.engine == "auto" || !windows || *windows <= 0 || f.workers < 2) return;
  const double events = f.committed / *windows;
  if (events >= kFewInWindow * f.workers) return;
  all.push_back(
      {fmt::format("Windows of time were short: {:.3g} events each on average ({} in {}), and all "
                   "workers meet after each window. Longer promised delays make longer windows; "
                   "'orrery describe {} --measure' shows those promised beside those seen. "
                   "--engine auto finds out whether one worker is faster.",
                   events, whole(f.committed), plural(*windows, "window"),
                   text_at(f.report, {"model", "name"})),
       {place(f, "windows"), "run.committed"}});
}

void judge_hand_overs(const Facts& f, Findings& all) {
  const auto handed = statistic(f.report, "handed_over");
  if (f.engine != "expanded" || !handed || f.executed <= 0 || f.workers < 2) return;
  if (*handed / f.executed >= kNotable) return;
  std::string text =
      fmt::format("Only {} of {} were given to another thread, so {} had next to nothing to do",
                  whole(*handed), plural(f.executed, "event"), plural(f.workers - 1, "worker"));
  std::vector<std::string> figures = {place(f, "handed_over"), "run.executed", "run.workers"};
  if (const auto cost = statistic(f.report, "event_cost"); cost && *cost > 0) {
    text += fmt::format("; an event took {} at the end", span_text(*cost * 1e-9));
    figures.push_back(place(f, "event_cost"));
  }
  all.push_back({text + ".", figures});
}

/// The work of an engine that `auto` tried.
struct Tried {
  double committed = 0, loop = 0, seconds = 0;
  bool only_trials = true;
  double rate() const { return loop > 0 ? committed / loop : 0; }
};

std::map<std::string, Tried> tried_engines(const Json& report) {
  std::map<std::string, Tried> all;
  const Json& periods = at(report, {"engines"});
  if (!periods.is_array()) return all;
  for (const Json& period : periods) {
    const double workers = number_at(period, {"workers"}).value_or(1);
    Tried& one =
        all[workers > 1 ? fmt::format("{} with {} workers", text_at(period, {"engine"}), workers)
                        : text_at(period, {"engine"})];
    one.committed += number_at(period, {"committed"}).value_or(0);
    one.loop += number_at(period, {"loop_seconds"}).value_or(0);
    one.seconds += number_at(period, {"seconds"}).value_or(0);
    if (text_at(period, {"why"}) != "trial") one.only_trials = false;
  }
  return all;
}

void judge_choice(const Facts& f, Findings& all) {
  const std::map<std::string, Tried> tried = tried_engines(f.report);
  if (f.engine != "auto" || tried.size() < 2) return;
  const auto most = std::max_element(tried.begin(), tried.end(), [](const auto& a, const auto& b) {
    return a.second.seconds < b.second.seconds;
  });
  std::string others;
  for (const auto& [name, one] : tried) {
    if (name == most->first || one.rate() <= 0) continue;
    others += fmt::format("{}{} {}", others.empty() ? "" : ", ", name, short_number(one.rate()));
    if (one.only_trials) others += fmt::format(" (in a trial of {})", span_text(one.loop));
  }
  if (others.empty() || most->second.rate() <= 0) return;
  all.push_back({fmt::format("auto gave most of the time to {}, which committed {} events a second "
                             "while it executed; {}.",
                             most->first, short_number(most->second.rate()), others),
                 {"engines"}});
}

void judge_trials(const Facts& f, Findings& all) {
  const auto lost = statistic(f.report, "lost_in_trials");
  if (f.engine != "auto" || !lost || f.wall <= 0 || *lost / f.wall < kNotableTrials) return;
  all.push_back(
      {fmt::format("Trials of other engines cost {} of the wall time ({} of {}); a longer "
                   "run spends a smaller share on them, and --engine with the name of the "
                   "best none.",
                   share_text(*lost, f.wall), span_text(*lost), span_text(f.wall)),
       {place(f, "lost_in_trials"), "run.seconds.wall"}});
}

void judge_event_cost(const Facts& f, Findings& all) {
  if (f.workers * f.ranks != 1 || f.executed <= 0 || f.loop < kShortLoopSeconds) return;
  if (f.engine == "checker") return;
  const double cost = f.loop / f.executed;
  std::string text = fmt::format(
      "One worker executed {} in {}, {} each with all that the engine "
      "does for it",
      plural(f.executed, "event"), span_text(f.loop), span_text(cost));
  if (cost < kShortEventSeconds)
    text +=
        ". That is too short for a second worker to pay where many events go from one worker "
        "to another; more work in each event would change that";
  else if (f.engine != "auto")
    text += "; 'orrery compare' measures what more workers make of events of that length";
  all.push_back({text + ".", {"run.seconds.loop", "run.executed", "run.workers"}});
}

void judge_cores(const Facts& f, Findings& all) {
  const auto cores = number_at(f.report, {"host", "usable_cores"});
  if (!cores || *cores < 1 || f.ranks > 1 || f.workers <= *cores) return;
  all.push_back(
      {fmt::format("{} shared {}, so some waited for a core while others waited for them; "
                   "--workers {} gives each its own.",
                   plural(f.workers, "worker"), plural(*cores, "usable core"), *cores),
       {"run.workers", "host.usable_cores"}});
}

void judge_memory(const Facts& f, Findings& all) {
  const auto peak = number_at(f.report, {"run", "peak_rss_bytes"});
  const auto memory = number_at(f.report, {"host", "memory_bytes"});
  const auto bytes = [](double n) { return bytes_text(static_cast<std::uint64_t>(n)); };
  if (peak && memory && *memory > 0 && *peak / *memory >= kMostly)
    all.push_back({fmt::format("The process held up to {}, {} of the machine's memory.",
                               bytes(*peak), share_text(*peak, *memory)),
                   {"run.peak_rss_bytes", "host.memory_bytes"}});
  const auto budget = number_at(f.report, {"options", "memory_bytes"});
  const auto held = number_at(f.report, {"run", "engine_peak_bytes"});
  if (budget && held && *budget > 0 && *held / *budget >= kNearBudget)
    all.push_back({fmt::format("The engine held up to {} of the {} that --memory allows, where it "
                               "slows down to stay within; a larger --memory lets it execute "
                               "further ahead.",
                               bytes(*held), bytes(*budget)),
                   {"run.engine_peak_bytes", "options.memory_bytes"}});
}

void judge_moves(const Facts& f, Findings& all) {
  const auto moves = statistic(f.report, "moves");
  if (!moves || *moves <= 0) return;
  all.push_back({fmt::format("Workers were unevenly loaded: LPs were moved from one to another in "
                             "{}.",
                             plural(*moves, "move")),
                 {place(f, "moves")}});
}

/// Finds the longest time without a commit.
void judge_standstill(const Progress& progress, const Facts& f, Findings& all) {
  double longest = 0, since = 0, from = 0;
  for (std::size_t i = 1; i < progress.size(); ++i) {
    if (progress.committed[i] > progress.committed[i - 1]) {
      since = progress.wall[i];
    } else if (progress.wall[i] - since > longest) {
      longest = progress.wall[i] - since;
      from = since;
    }
  }
  if (longest < kStandstillSeconds || f.wall <= 0 || longest / f.wall < kNotable) return;
  if (from == 0) return;  // another finding is about the time before the first commit
  all.push_back({fmt::format("For {}, from {} after the start on, nothing was committed.",
                             span_text(longest), span_text(from)),
                 {"progress.wall_seconds", "progress.committed"}});
}

void judge_trend(const Progress& progress, const Facts& f, Findings& all) {
  if (progress.size() < kTrendPoints || f.loop < kShortLoopSeconds) return;
  const double begin = f.startup, end = std::min(progress.wall.back(), begin + f.loop);
  const double quarter = (end - begin) / 4;
  const double first = progress.rate(begin, begin + quarter);
  const double last = progress.rate(end - quarter, end);
  if (!(first > 0 && last > 0) || std::max(first / last, last / first) < kChangedRate) return;
  all.push_back({fmt::format("The run {}: {} committed events a second in the first quarter of its "
                             "time, {} in the last.",
                             last < first ? "slowed down" : "became faster", short_number(first),
                             short_number(last)),
                 {"progress.wall_seconds", "progress.committed"}});
}

}  // namespace

std::optional<double> statistic(const Json& report, const std::string& name) {
  const std::string full = statistic_name(report, name);
  if (full.empty()) return std::nullopt;
  return number_at(report, {"statistics", full.c_str(), "value"});
}

std::vector<Finding> findings_of(const Json& report) {
  const Facts facts(report);
  const Progress progress = progress_of(report);
  Findings all;
  for (auto* judge : {judge_choice, judge_rollbacks, judge_windows, judge_hand_overs,
                      judge_coasting, judge_event_cost, judge_start_and_end, judge_trials,
                      judge_cores, judge_memory, judge_moves})
    judge(facts, all);
  judge_standstill(progress, facts, all);
  judge_trend(progress, facts, all);
  judge_length(facts, all);
  return all;
}

}  // namespace orrery::page
