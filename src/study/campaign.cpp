// SPDX-License-Identifier: Apache-2.0
#include "study/campaign.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <tuple>
#include <utility>

#include "core/model_registry.h"
#include "orrery/error.h"
#include "study/records.h"

namespace orrery::study {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kExitSystem = 4;         // kExitSystem of the command
constexpr int kLookMs = 200;           // milliseconds between two progress lines
constexpr std::size_t kMostTold = 10;  // failures printed, since one error may fail all runs

/// Throws UsageError for a measure that the report does not have, and for a text.
void require_measure(const Json& report, const PrecisionRule& rule) {
  RunTable table;
  table.add(0, 0, report);
  if (const auto place = table.find(rule.measure)) {
    if (!table.measures()[*place].is_text) return;
    throw UsageError(
        fmt::format("--until-precision names '{}', which is a text; only a number has a precision",
                    rule.measure));
  }
  std::vector<std::string> names;
  for (const Measure& measure : table.measures()) names.push_back(measure.name);
  throw UsageError(
      fmt::format("--until-precision names '{}', which no run reports{} (there are {})",
                  rule.measure, near_matches(rule.measure, names), fmt::join(names, ", ")));
}

template <class List>
void sort_by_plan(List& list) {
  std::sort(list.begin(), list.end(), [](const auto& a, const auto& b) {
    return std::tie(a.point, a.place) < std::tie(b.point, b.place);
  });
}

}  // namespace

Campaign::Campaign(const Plan& plan, const StudyFolder& folder, const RunMaker& maker, bool quiet)
    : plan_(plan),
      folder_(folder),
      maker_(maker),
      quiet_(quiet),
      progress_(quiet),
      points_(plan.points.size()) {}

int Campaign::carry_out() {
  for (PointState& point : points_) point.values.resize(plan_.rules.size());
  for (std::size_t point = 0; point < points_.size() && signal_ == 0; ++point)
    want(point, plan_.seeds.size());
  if (!quiet_ && kept_ > 0)
    progress_.say(fmt::format("{} of {} runs are finished already and kept", kept_, total_));
  if (outdated_ > 0)
    progress_.say(fmt::format(
        "{} finished runs are of another build of the program or the model, or of input files that "
        "have changed, and are made again",
        outdated_));
  while (children_.running() > 0 || (!queue_.empty() && signal_ == 0)) {
    while (signal_ == 0 && !queue_.empty() && children_.running() < maker_.jobs) start_next();
    if (const auto ended = children_.wait(kLookMs)) end(*ended);
    if (const int number = children_.take_signal()) on_signal(number);
    if (signal_ == 0) show();
  }
  progress_.clear();
  sort_by_plan(failures_);
  sort_by_plan(given_up_);
  return signal_;
}

/// Adds replications to a point; starts only those that are not finished.
void Campaign::want(std::size_t point, std::uint64_t replications) {
  PointState& state = points_[point];
  const std::uint64_t before = state.wanted;
  state.wanted = replications;
  total_ += replications - before;
  for (std::uint64_t replication = before; replication < replications; ++replication) {
    const PlannedRun run{point, replication};
    Json report;
    const Found found =
        look_for_run(folder_.run_folder(point, plan_.seed(replication)), identity(run), report);
    const bool is_kept = found == Found::finished && inputs_.are_those_of(report);
    if (found == Found::of_another_build || (found == Found::finished && !is_kept)) ++outdated_;
    if (is_kept) {
      ++kept_;
      ++done_;
      note_values(run, report);
    } else {
      ++state.open;
      queue_.push_back(run);
    }
  }
  if (state.open == 0) look_at(point);
}

/// Checks a point's rules. Call it when all its replications are finished.
void Campaign::look_at(std::size_t point) {
  const PointState& state = points_[point];
  if (state.failed || plan_.rules.empty()) return;
  const std::uint64_t next = next_count(point);
  if (next == state.wanted) return;
  if (state.wanted < plan_.most_seeds) return want(point, std::min(next, plan_.most_seeds));
  for (std::size_t rule = 0; rule < plan_.rules.size(); ++rule) {
    const Estimate estimate = estimate_of(state, rule);
    const double reached = PrecisionRule::share_of(estimate);
    if (reached > plan_.rules[rule].share) given_up_.push_back({point, rule, reached});
  }
}

/// The largest number of replications that a rule of the point requires.
std::uint64_t Campaign::next_count(std::size_t point) {
  const PointState& state = points_[point];
  std::uint64_t next = state.wanted;
  for (std::size_t rule = 0; rule < plan_.rules.size(); ++rule) {
    const Estimate estimate = estimate_of(state, rule);
    if (!plan_.rules[rule].is_met_by(estimate))
      next = std::max({next, state.wanted + 1, plan_.rules[rule].next_count(estimate)});
  }
  return next;
}

Estimate Campaign::estimate_of(const PointState& point, std::size_t rule) const {
  std::vector<double> values = point.values[rule];
  std::erase_if(values, [](double value) { return std::isnan(value); });
  return estimate(values, plan_.rules[rule].confidence);
}

void Campaign::note_values(const PlannedRun& run, const Json& report) {
  if (!std::exchange(has_checked_rules_, true))
    for (const PrecisionRule& rule : plan_.rules) require_measure(report, rule);
  for (std::size_t rule = 0; rule < plan_.rules.size(); ++rule) {
    std::vector<double>& values = points_[run.point].values[rule];
    constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
    if (values.size() <= run.replication) values.resize(run.replication + 1, kNone);
    values[run.replication] = value_in(report, plan_.rules[rule].measure).value_or(kNone);
  }
}

RunIdentity Campaign::identity(const PlannedRun& run) const {
  return maker_.identity(run.point, plan_.seed(run.replication));
}

void Campaign::start_next() {
  const PlannedRun run = queue_.front();
  queue_.pop_front();
  const std::uint64_t seed = plan_.seed(run.replication);
  const std::string folder = folder_.run_folder(run.point, seed);
  wait_for_release(folder);
  std::vector<std::string> words = maker_.command(run.point, seed);
  words.insert(words.end(), maker_.manner.begin(), maker_.manner.end());
  words.insert(words.end(), {"--quiet", "--force", "--out", folder});
  children_.start(started_.size(), words);
  started_.push_back(run);
}

void Campaign::end(const Ended& ended) {
  const PlannedRun run = started_[ended.tag];
  if (ended.code != 0) {
    // A run that this study has stopped has not failed.
    if (signal_ == 0) fail(run, ended.code, ended.sentence);
    return;
  }
  Json report;
  const std::string folder = folder_.run_folder(run.point, plan_.seed(run.replication));
  const Found found = look_for_run(folder, identity(run), report);
  if (found == Found::of_another_build) {
    throw UsageError(
        "the program or its model was built again during the study; start the study again, "
        "so that all of its runs are of one build");
  }
  if (found != Found::finished) return fail(run, kExitSystem, "it left no report in " + folder);
  ++done_;
  note_values(run, report);
  if (--points_[run.point].open == 0 && signal_ == 0) look_at(run.point);
}

void Campaign::fail(const PlannedRun& run, int code, const std::string& sentence) {
  points_[run.point].failed = true;
  const std::uint64_t seed = plan_.seed(run.replication);
  failures_.push_back({run.point, run.replication, seed, code, sentence});
  const Settings& settings = plan_.points[run.point];
  const std::string text = settings.empty() ? fmt::format("seed {}", seed)
                                            : fmt::format("{}, seed {},", text_of(settings), seed);
  if (failures_.size() <= kMostTold)
    progress_.say(fmt::format("the run with {} failed: {}", text, sentence));
  if (failures_.size() == kMostTold + 1)
    progress_.say("more runs fail; study.json will list them all");
}

void Campaign::on_signal(int number) {
  const bool is_second = signal_ != 0;
  signal_ = number;
  // SIGINT ends runs in order, which some models need; the second signal kills them.
  children_.signal_all(is_second ? SIGKILL : SIGINT);
  if (!is_second && children_.running() > 0)
    progress_.say("stopping the runs that are under way; once more kills them");
}

void Campaign::show() {
  progress_.show({done_, total_, failures_.size(), children_.running(), kept_, 0});
}

}  // namespace orrery::study
