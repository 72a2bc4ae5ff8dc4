// SPDX-License-Identifier: Apache-2.0
#include "advise/measurement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "core/duration_text.h"
#include "output/number_text.h"

namespace orrery::advise {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kScoutShare = 0.25, kPilotShare = 0.25, kProbeShare = 0.1, kBeyondShare = 0.1;
constexpr double kLeastScoutSeconds = 0.2, kShortSeconds = 0.5;
constexpr double kLeastProbeSeconds = 0.05, kMostProbeSeconds = 1;
constexpr double kLeastRunSeconds = 0.03, kMostRunSeconds = 2.5;
constexpr double kLengths[] = {1, 2, 4};  // relative lengths of the runs for the fit
constexpr double kSumOfLengths = 7;
constexpr unsigned kLeastCycles = 2, kMostCycles = 8;
constexpr double kProbeWorth = 0.5, kCycleWorth = 0.8;  // least shares of the best rate
constexpr double kWellKnown = 0.02;      // relative half-width at which measuring ends
constexpr unsigned kScoutTries = 4;      // each four times as long, since start-up may take it all
constexpr double kPatience = 4;          // time limit of a run, in multiples of its expected time
constexpr double kExtraSeconds = 1;      // added to the limit
constexpr std::size_t kLeastPoints = 8;  // for a curve
constexpr unsigned kOversubscription = 4;
constexpr double kBusy = 0.5;  // load per core from which on other programs disturb
constexpr int kExitUsage = 2;

std::vector<CurvePoint> points_of(const Json& report) {
  std::vector<CurvePoint> points;
  const Json& progress = report.at("progress");
  for (std::size_t i = 0; i < progress.at("committed").size(); ++i)
    points.push_back({progress["simulated_seconds"][i], progress["committed"][i]});
  const CurvePoint last{report.at("run").at("reached_seconds"), report["run"].at("committed")};
  // The last sample may have the same time, but be taken before the last events were counted.
  while (!points.empty() && points.back().seconds >= last.seconds) points.pop_back();
  points.push_back(last);
  return points;
}

double seconds_beside_loop(const Json& report) {
  const Json& seconds = report.at("run").at("seconds");
  return seconds.at("startup").get<double>() + seconds.at("shutdown").get<double>();
}

/// The load of this machine, if the system says.
std::optional<double> load_of_others() {
  double load = 0;
  if (getloadavg(&load, 1) != 1) return std::nullopt;
  return load;
}

}  // namespace

Measurement::Measurement(const Question& question, std::string folder)
    : question_(question),
      folder_(std::move(folder)),
      status_(question.budget_seconds, question.quiet),
      curve_(std::span<const CurvePoint>()) {}

Findings Measurement::carry_out() {
  if (const auto load = load_of_others(); load && *load > kBusy * question_.cores)
    found_.notes.push_back(
        fmt::format("other programs run on this machine (load {:.1f} on {} core{}): it seems "
                    "slower than it is, "
                    "and intervals are wide",
                    *load, question_.cores, question_.cores == 1 ? "" : "s"));
  if (question_.wants_speed) {
    status_.show("how fast this machine is");
    found_.speed = measure_speed(runner_, path("speed"), 3);
  }
  send_scout();
  if (runner_.signal() != 0) throw Interrupted{runner_.signal()};
  found_.forecast = forecast_events(curve_, until_, kConfidence);
  if (found_.forecast.basis == Basis::unsettled && has_snapshot_) send_scout_on();
  if (!question_.pilot_words.empty() && found_.forecast.basis != Basis::counted) run_pilot();
  choose_begin();
  probe();
  measure_in_turn();
  measure_beyond_cores();
  status_.clear();
  found_.runs = runner_.runs();
  found_.seconds = status_.seconds();
  found_.signal = runner_.signal();
  return std::move(found_);
}

// --- the scout
// ------------------------------------------------------------------------------------

RunOutcome Measurement::scout_for(double seconds) {
  std::vector<std::string> words = question_.run_words;
  words.emplace_back("--snapshots");
  RunOutcome outcome = runner_.run(words, path("scout"), seconds);
  has_snapshot_ = true;
  if (outcome.code != kExitUsage) return outcome;
  // The option --snapshots may be the reason; any other error will come again.
  const std::string why = outcome.sentence;
  outcome = runner_.run(question_.run_words, path("scout"), seconds);
  has_snapshot_ = false;
  if (outcome.is_usable())
    found_.notes.push_back(
        "every run was measured from the start, start-up included, for no "
        "snapshot can be taken: " +
        why);
  return outcome;
}

/// Runs the scout until there are points enough for a curve; a model with a long preparation needs
/// more time.
void Measurement::send_scout() {
  double seconds = std::max(kLeastScoutSeconds, kScoutShare * question_.budget_seconds);
  for (unsigned i = 0; i < kScoutTries; ++i, seconds *= 4) {
    status_.show("a run up to a warmed-up state");
    const RunOutcome outcome = scout_for(seconds);
    if (runner_.signal() != 0) return;
    if (outcome.code != 0) throw Failed{outcome.code, outcome.sentence};
    if (!outcome.report.is_object() || !outcome.report.contains("progress")) continue;
    found_.scout = outcome.report;
    points_ = points_of(outcome.report);
    curve_ = Curve(points_);
    if (curve_.size() >= kLeastPoints || outcome.report["complete"] == true) break;
  }
  if (curve_.empty() || curve_.events() < 1)
    throw Failed{kExitUsage,
                 fmt::format("the model committed no event within {}; give more with --budget",
                             span_text(seconds / 4))};
  const Json& report = found_.scout;
  tick_ = report["model"]["tick_seconds"];
  until_ticks_ = report["options"]["until_ticks"];
  until_ = static_cast<double>(until_ticks_) * tick_;
  found_.start_seconds = seconds_beside_loop(report);
  scout_rate_ = report["run"]["events_per_second"];
  scout_seconds_ = report["run"]["seconds"]["loop"];
  state_ = path("scout");
}

/// Resumes the scout from its snapshot. If that fails, the first scout's data stay.
void Measurement::send_scout_on() {
  status_.show("the same, further, for its rate of events has not settled");
  std::vector<std::string> words = {"fork", state_};
  words.insert(words.end(), question_.fork_words.begin(), question_.fork_words.end());
  words.emplace_back("--snapshots");
  const RunOutcome outcome =
      runner_.run(words, path("further"), kScoutShare * question_.budget_seconds);
  if (runner_.signal() != 0 || !outcome.is_usable()) return;
  found_.scout["run"] = outcome.report["run"];
  scout_seconds_ += outcome.report["run"]["seconds"]["loop"].get<double>();
  state_ = path("further");
  const std::vector<CurvePoint> more = points_of(outcome.report);
  points_.insert(points_.end(), more.begin(), more.end());
  curve_ = Curve(points_);
  found_.forecast = forecast_events(curve_, until_, kConfidence);
}

void Measurement::run_pilot() {
  status_.show("the pilot");
  const RunOutcome outcome =
      runner_.run(question_.pilot_words, path("pilot"), kPilotShare * question_.budget_seconds);
  if (runner_.signal() != 0) return;
  if (outcome.code != 0) throw Failed{outcome.code, "the pilot: " + outcome.sentence};
  if (outcome.report["complete"] != true)
    throw Failed{kExitUsage,
                 fmt::format("the pilot did not come to its end within {}, a quarter of --budget; "
                             "make it smaller, or give more",
                             span_text(kPilotShare * question_.budget_seconds))};
  const Curve pilot(points_of(outcome.report));
  if (pilot.events() < 1) throw Failed{kExitUsage, "the pilot committed no event"};
  found_.forecast = forecast_by_pilot(curve_, pilot, until_);
}

// --- where measured runs begin
// --------------------------------------------------------------------

void Measurement::choose_begin() {
  const Json& run = found_.scout["run"];
  if (found_.forecast.basis == Basis::counted) {
    if (scout_seconds_ < kShortSeconds) {
      found_.begin = Begin::whole;
    } else if (has_snapshot_) {
      take_snapshot_at(curve_.events() / 4);
    } else {
      found_.begin = Begin::start;
    }
    return;
  }
  if (!has_snapshot_) {
    found_.begin = Begin::start;
    return;
  }
  begin_ticks_ = run["reached_ticks"];
  begin_events_ = run["committed"];
  begin_executed_ = run["executed"];
  found_.begin_seconds = static_cast<double>(begin_ticks_) * tick_;
}

void Measurement::take_snapshot_at(double events) {
  begin_ticks_ = std::max<std::int64_t>(1, std::llround(curve_.time_of(events) / tick_));
  std::vector<std::string> words = question_.run_words;
  words.insert(words.end(),
               {"--snapshot-at", duration_text(Duration::from_ticks(begin_ticks_), tick_),
                "--end-after-snapshot"});
  status_.show("a snapshot at a quarter of the events");
  const RunOutcome outcome = runner_.run(words, path("scout"), question_.budget_seconds);
  if (!outcome.is_usable()) {
    found_.begin = Begin::start;
    begin_ticks_ = 0;
    if (runner_.signal() == 0)
      found_.notes.push_back(
          "every run was measured from the start, start-up included, for a "
          "snapshot failed: " +
          outcome.sentence);
    return;
  }
  state_ = path("scout");
  begin_events_ = outcome.report["run"]["committed"];
  begin_executed_ = outcome.report["run"]["executed"];
  found_.begin_seconds = static_cast<double>(begin_ticks_) * tick_;
}

double Measurement::events_ahead() const {
  return found_.forecast.events.value - begin_events_;
}

/// A run of `events` events from its begin, or to the horizon if there are fewer.
std::vector<std::string> Measurement::words_for(const Configuration& configuration,
                                                double events) const {
  std::vector<std::string> words = question_.run_words;
  if (found_.begin == Begin::snapshot) {
    words = {"fork", state_};
    words.insert(words.end(), question_.fork_words.begin(), question_.fork_words.end());
  }
  const std::vector<std::string> own = configuration.words();
  words.insert(words.end(), own.begin(), own.end());
  if (found_.begin == Begin::whole) return words;
  const double total = begin_events_ + events;
  double time = curve_.time_of(total);
  if (total > curve_.events())
    time = curve_.end() + (total - curve_.events()) / found_.forecast.rate;
  const std::int64_t ticks =
      time >= until_
          ? until_ticks_
          : std::clamp<std::int64_t>(std::llround(time / tick_), begin_ticks_ + 1, until_ticks_);
  // Removes the given --until from the words, since the option may occur only once.
  std::erase_if(words, [](const std::string& word) { return word.starts_with("--until="); });
  words.push_back("--until=" + duration_text(Duration::from_ticks(ticks), tick_));
  return words;
}

// --- measuring
// ------------------------------------------------------------------------------------

double Measurement::rate_of(const Measured& one) const {
  const auto fit = one.fit();
  return fit ? 1 / fit->per_event : scout_rate_;
}

double Measurement::best_rate() const {
  double best = 0;
  for (const Measured& one : found_.measured)
    if (!one.samples.empty() && !one.beyond_cores) best = std::max(best, rate_of(one));
  return best;
}

void Measurement::measure(Measured& one, double target_seconds) {
  const double events = std::max(1.0, rate_of(one) * target_seconds);
  const double limit = kPatience * target_seconds + 2 * found_.start_seconds + kExtraSeconds +
                       (found_.begin == Begin::whole ? kPatience * kShortSeconds : 0);
  const RunOutcome outcome = runner_.run(
      words_for(one.configuration, std::min(events, events_ahead())), path("run"), limit);
  if (runner_.signal() != 0) return;
  if (!outcome.is_usable()) {
    one.refusal = outcome.sentence;
    return;
  }
  const Json& run = outcome.report["run"];
  const double committed = run["committed"].get<double>() - begin_events_;
  if (committed < 1) {
    one.refusal = fmt::format("it committed nothing within {}", span_text(limit));
    return;
  }
  one.samples.push_back({committed, run["seconds"]["loop"]});
  one.committed += committed;
  one.executed += run["executed"].get<double>() - begin_executed_;
  one.start_seconds = seconds_beside_loop(outcome.report);
  one.memory_bytes = std::max(one.memory_bytes, run["peak_rss_bytes"].get<std::uint64_t>());
}

void Measurement::probe() {
  const double target = std::clamp(
      kProbeShare * question_.budget_seconds / static_cast<double>(question_.candidates.size()),
      kLeastProbeSeconds, kMostProbeSeconds);
  for (const Configuration& candidate : question_.candidates) {
    if (runner_.signal() != 0) return;
    status_.show("a first look at " + candidate.name());
    Measured& one = found_.measured.emplace_back();
    one.configuration = candidate;
    measure(one, target);
  }
}

/// The configurations that may be the best, and those of the best one's family, which a forecast
/// for more cores needs.
std::vector<Measured*> Measurement::worth_more(double share) {
  const double best = best_rate();
  std::string family;
  for (const Measured& one : found_.measured)
    if (!one.samples.empty() && rate_of(one) >= best) family = one.configuration.family();
  std::vector<Measured*> worth;
  for (Measured& one : found_.measured)
    if (one.refusal.empty() && !one.samples.empty() &&
        (rate_of(one) >= share * best || one.configuration.family() == family))
      worth.push_back(&one);
  return worth;
}

bool Measurement::is_well_known() const {
  const auto best = fastest(found_.measured, found_.work());
  if (!best) return true;
  return time_of_run(found_.measured[*best], {found_.forecast.events.value, 0}, 0).share() <
         kWellKnown;
}

void Measurement::measure_in_turn() {
  const double reserve = kBeyondShare * question_.budget_seconds;
  std::vector<Measured*> worth = worth_more(kProbeWorth);
  if (worth.empty() || is_over(reserve)) return;
  const double runs = static_cast<double>(kLeastCycles * std::size(kLengths) * worth.size());
  const double loops = status_.left() - reserve - runs * found_.start_seconds;
  const double length =
      std::clamp(loops / (static_cast<double>(kLeastCycles * worth.size()) * kSumOfLengths),
                 kLeastRunSeconds, kMostRunSeconds);
  for (unsigned cycle = 0; cycle < kMostCycles; ++cycle) {
    if (cycle >= kLeastCycles && is_well_known()) return;
    if (cycle > 0) worth = worth_more(kCycleWorth);
    for (const double part : kLengths) {
      for (Measured* one : worth) {
        if (is_over(reserve + length * part)) return;
        status_.show(one->configuration.name());
        if (one->refusal.empty()) measure(*one, length * part);
      }
    }
  }
}

/// Measures the best configuration with several workers, and the best with several ranks.
void Measurement::measure_beyond_cores() {
  for (const bool as_ranks : {false, true}) {
    const Measured* best = nullptr;
    for (const Measured& one : found_.measured) {
      const bool fits = one.configuration.executors() > 1 && !one.samples.empty() &&
                        !one.beyond_cores && (one.configuration.ranks > 1) == as_ranks;
      if (fits && (best == nullptr || rate_of(one) > rate_of(*best))) best = &one;
    }
    if (best == nullptr) continue;
    Measured beyond;
    beyond.beyond_cores = true;
    beyond.configuration = best->configuration.with_executors(kOversubscription * question_.cores);
    const double rate = rate_of(*best);
    beyond.samples.clear();
    const double target =
        std::clamp(kBeyondShare / 4 * question_.budget_seconds, kLeastRunSeconds, kMostRunSeconds);
    for (int i = 0; i < 2 && beyond.refusal.empty(); ++i) {
      if (is_over(0)) break;
      status_.show(beyond.configuration.name() + ", which is more than there are cores");
      measure(beyond, target * std::min(1.0, rate / scout_rate_));
    }
    found_.measured.push_back(std::move(beyond));
  }
}

}  // namespace orrery::advise
