// SPDX-License-Identifier: Apache-2.0
#include "output/stop_rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "core/model_registry.h"
#include "orrery/error.h"
#include "output/batch_means.h"
#include "output/metric_figures.h"
#include "output/number_text.h"
#include "run/containment/faults.h"
#include "run/results/metric_options.h"
#include "run/world/metrics_so_far.h"

namespace orrery {
namespace {

constexpr const char* kPrecision = "precision";
constexpr const char* kFlag = "--stop-when";

std::string trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(" \t") - first + 1));
}

std::vector<std::string> parts_of(const std::string& text) {
  constexpr std::string_view kAnd = " and ";
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(kAnd, at), text.size());
    parts.push_back(trimmed(std::string_view(text).substr(at, end - at)));
    at = end == text.size() ? end + 1 : end + kAnd.size();
  }
  return parts;
}

[[noreturn]] void refuse(const std::string& text) {
  throw UsageError(
      fmt::format("{} cannot be '{}': a metric's figure, a relation (<, <=, >, >=, ==, !=) and a "
                  "number are expected, such as 'wait.count >= 100000'; 'and' joins several",
                  kFlag, text));
}

double number_of(const std::string& digits, const std::string& text) {
  double value = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value);
  if (error != std::errc() || stop != end) refuse(text);
  return value;
}

std::vector<std::string> figures_of_kind(const Metric& metric, const Model& model, bool batched) {
  std::vector<std::string> names;
  for (const MetricFigure& one : figures_of(metric, model, RunResult())) names.push_back(one.name);
  if (batched) names.emplace_back(kPrecision);
  return names;
}

}  // namespace

StopRule::StopRule(const Model& model, std::string text, const std::vector<const Metric*>& batched)
    : model_(model), text_(std::move(text)) {
  for (const std::string& part : parts_of(text_)) conditions_.push_back(parse(part, batched));
}

StopRule::Sign StopRule::sign_of(const std::string& text) {
  constexpr std::array<std::pair<std::string_view, Relation>, 6> kSigns = {
      {{"<=", Relation::at_most},
       {">=", Relation::at_least},
       {"==", Relation::equal},
       {"!=", Relation::unequal},
       {"<", Relation::less},
       {">", Relation::more}}};
  const std::size_t at = text.find_first_of("<>=!");
  if (at == std::string::npos) refuse(text);
  for (const auto& [sign, relation] : kSigns)
    if (text.compare(at, sign.size(), sign) == 0) return {relation, at, sign.size()};
  refuse(text);
}

StopRule::Condition StopRule::parse(const std::string& text,
                                    const std::vector<const Metric*>& batched) const {
  const Sign sign = sign_of(text);
  const std::string left = trimmed(text.substr(0, sign.at));
  const std::size_t dot = left.find('.', name_bytes(left));  // the figure "p99.9" has a dot, too
  if (dot == std::string::npos || dot == 0) refuse(text);
  Condition condition;
  condition.figure = left.substr(dot + 1);
  condition.metric = metric_of(left.substr(0, dot), condition.figure, batched);
  condition.relation = sign.relation;
  condition.bound = number_of(trimmed(text.substr(sign.at + sign.bytes)), text);
  return condition;
}

/// The length of the metric's name at the beginning of `text`, or 0; names may have dots.
std::size_t StopRule::name_bytes(const std::string& text) const {
  std::size_t longest = 0;
  for (const Metric* metric : model_.metrics())
    if (text.starts_with(metric->name() + ".")) longest = std::max(longest, metric->name().size());
  return longest;
}

const Metric* StopRule::metric_of(const std::string& name, const std::string& figure,
                                  const std::vector<const Metric*>& batched) const {
  const Metric& metric = find_metric(model_, name, kFlag);
  const bool has_batches = std::find(batched.begin(), batched.end(), &metric) != batched.end();
  const std::vector<std::string> figures = figures_of_kind(metric, model_, has_batches);
  if (std::find(figures.begin(), figures.end(), figure) != figures.end()) return &metric;
  if (figure == kPrecision)
    throw UsageError(
        fmt::format("{}: the precision of '{}' needs --batch-means {}", kFlag, name, name));
  throw UsageError(fmt::format("{}: metric '{}' has no figure '{}'{} (it has {})", kFlag, name,
                               figure, near_matches(figure, figures), listed(figures)));
}

std::optional<double> StopRule::value(const Condition& condition, const RunResult& so_far) const {
  if (condition.figure == kPrecision) {
    const auto means = batch_means(*condition.metric, so_far);
    return means ? std::optional(means->precision()) : std::nullopt;
  }
  return figure_of(*condition.metric, model_, so_far, condition.figure);
}

bool StopRule::fulfils(const Condition& condition, double value) {
  switch (condition.relation) {
    case Relation::less:
      return value < condition.bound;
    case Relation::at_most:
      return value <= condition.bound;
    case Relation::more:
      return value > condition.bound;
    case Relation::at_least:
      return value >= condition.bound;
    case Relation::equal:
      return value == condition.bound;
    case Relation::unequal:
      return value != condition.bound;
  }
  return false;
}

bool StopRule::holds(const RunResult& so_far) const {
  return std::all_of(conditions_.begin(), conditions_.end(), [&](const Condition& one) {
    const std::optional<double> now = value(one, so_far);
    return now && fulfils(one, *now);
  });
}

std::string StopRule::state(const RunResult& so_far) const {
  std::string text;
  for (const Condition& one : conditions_) {
    const std::optional<double> now = value(one, so_far);
    text += fmt::format("{}{}.{} was {}", text.empty() ? "" : " and ", one.metric->name(),
                        one.figure, now ? number_text(*now) : "not known");
  }
  return text;
}

Time StopHalts::look_after(Time time) const {
  const std::int64_t last = time.ticks() / step_.ticks();
  const bool reaches = last < (until_.ticks() - 1) / step_.ticks();
  return reaches ? Time::from_ticks((last + 1) * step_.ticks()) : Time::max();
}

bool StopHalts::is_behind_look(const World& world) const {
  return *look_ != Time::max() && world.cut >= Key::start_of(*look_);
}

Goal StopHalts::next_goal(const World& world) {
  if (!look_) look_ = look_after(world.cut.time());
  Goal goal = goal_of_others(world);
  goal.until = std::min(goal.until, *look_);
  return goal;
}

/// A halt may be for a check, for the other halts, or both; a halt at no check's time was
/// requested. The check comes first, since a run that resumes from a snapshot begins with the
/// checks behind the snapshot.
bool StopHalts::at_halt(World& world) {
  const bool to_look = is_behind_look(world);
  const bool for_others = is_at_goal_of_others(world) || !to_look;
  if (is_time_to_stop(world)) return false;
  return !for_others || show_to_others(world);
}

/// An engine may or may not halt for checks behind the last event.
void StopHalts::at_completion(World& world) {
  if (!is_time_to_stop(world)) ChainedHalts::at_completion(world);
}

/// An engine may put its cut at the first event behind the goal, and so behind several checks. Each
/// check counts, since levels and rates change without events.
bool StopHalts::is_time_to_stop(World& world) {
  for (; is_behind_look(world); look_ = look_after(*look_)) {
    const RunResult now = metrics_so_far(world, *look_, control_.ranks);
    if (!rule_.holds(now)) continue;
    world.cut = std::min(world.cut, Key::start_of(*look_));
    note_ = fmt::format("the run stopped at {}, as asked for: {}", time_text(world.model(), *look_),
                        rule_.state(now));
    return true;
  }
  return false;
}

void StopHalts::at_end(RunResult& result) {
  ChainedHalts::at_end(result);
  if (!note_.empty()) result.notes.push_back(note_);
  if (note_.empty() && result.end == RunEnd::completed)
    result.notes.push_back(
        fmt::format("{} '{}' was never true up to the run's end", kFlag, rule_.text()));
}

RunEnd StopHalts::end() const {
  return note_.empty() ? ChainedHalts::end() : RunEnd::completed;
}

}  // namespace orrery
