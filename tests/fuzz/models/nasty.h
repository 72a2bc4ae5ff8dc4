// SPDX-License-Identifier: Apache-2.0
//
// What the nasty models of the fuzzer share. A nasty model is legal C++ that a platform which saves
// and restores the memory of others may stumble over. Such a way to keep state is a `Habit`; the LP
// around it gives the habit events, digests what it returns into its own next events, rows, metrics
// and final state, and so turns one byte that was restored wrongly into another fingerprint.
//
// A file holds the habits of one subject; `kind` chooses one, or mixes all over the LPs. What a
// habit returns must not depend on addresses: that would be the model's mistake.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/orrery.h"

namespace orrery::fuzz {

inline std::uint64_t mix(std::uint64_t digest, std::uint64_t value) {
  digest = (digest ^ value) * 0x9e3779b97f4a7c15u;
  return digest ^ (digest >> 29);
}

inline std::uint64_t mix(std::uint64_t digest, std::string_view text) {
  for (const char c : text) digest = mix(digest, static_cast<unsigned char>(c));
  return mix(digest, text.size());
}

/// One way to keep state.
class Habit {
 public:
  virtual ~Habit() = default;
  /// Changes the state; returns a number that depends on it.
  virtual std::uint64_t change(Random& random, std::uint64_t value) = 0;
  /// A number that depends on the whole state.
  virtual std::uint64_t digest() const = 0;
};

struct HabitKind {
  std::string name;
  std::unique_ptr<Habit> (*make)();
};

template <class H>
HabitKind habit(const char* name) {
  return {name, []() -> std::unique_ptr<Habit> { return std::make_unique<H>(); }};
}

struct Step {
  std::uint64_t value;
};

class NastyModel : public Model {
 public:
  explicit NastyModel(std::vector<HabitKind> kinds)
      : kinds_(std::move(kinds)),
        kind(*this, "kind", "all", {.help = "how LPs keep their state: all, " + names()}) {}

  void prepare() override {
    for (const HabitKind& one : kinds_)
      if (kind.value() == one.name) kinds_ = {HabitKind(one)};
    if (kind.value() != "all" && kinds_.size() != 1)
      throw UsageError("there is no kind '" + kind.value() + "'; kinds: all, " + names());
  }
  std::uint64_t lp_count() const override { return static_cast<std::uint64_t>(lps.value()); }
  std::unique_ptr<LogicalProcessBase> create(LpId id) const override;
  Time default_horizon() const override { return Time::from_ticks(1'000); }

 private:
  std::string names() const {
    std::string text;
    for (const HabitKind& one : kinds_) text += (text.empty() ? "" : ", ") + one.name;
    return text;
  }
  std::vector<HabitKind> kinds_;

 public:
  Parameter<std::string> kind;
  Parameter<std::int64_t> lps{*this, "lps", 16, {.help = "LPs", .minimum = 1, .maximum = 65536}};
  Parameter<std::int64_t> spread{
      *this, "spread", 10, {.help = "delays are at most this many ticks", .minimum = 1}};
  Parameter<double> zero{
      *this, "zero", 0.1, {.help = "share of delays of zero", .minimum = 0.0, .maximum = 0.5}};
  Parameter<double> remote{
      *this, "remote", 0.5, {.help = "share of events for any LP", .minimum = 0.0, .maximum = 1.0}};
  Parameter<double> expanded{
      *this, "expanded", 0, {.help = "share of expanded events", .minimum = 0.0, .maximum = 1.0}};
  Parameter<std::int64_t> fault_at{
      *this, "fault_at", 0, {.help = "the last LP fails at this event (0: never)", .minimum = 0}};
  const Metric share{*this, "share", "1", "digests, scaled", Keep::histogram};
  const Metric latest{*this, "latest", "1", "the same, as it stands", Keep::level};
  const Table steps{
      *this, "steps", {{"value", ColumnType::integer}, {"share", ColumnType::real}}, "some events"};
};

class NastyLp final : public LogicalProcess<NastyLp, Step> {
 public:
  NastyLp(const NastyModel& model, std::unique_ptr<Habit> habit)
      : model_(model), habit_(std::move(habit)) {}

  void start(Context& context) override { send(context, context.self()); }

  void handle(Context& context, const Step& step) {
    ++events_;
    if (static_cast<std::int64_t>(events_) == model_.fault_at &&
        context.self() == context.lp_count() - 1)
      throw std::runtime_error("told to fail, with digest " + std::to_string(digest_));
    digest_ = mix(digest_, habit_->change(context.random(), step.value));
    if (events_ % 8 == 0) digest_ = mix(digest_, habit_->digest());
    context.record(model_.share, static_cast<double>(digest_ >> 40) * 0.1);
    context.level(model_.latest, static_cast<double>(digest_ >> 40) * 0.1);
    if (digest_ % 8 == 0)
      context.emit(model_.steps, digest_, static_cast<double>(step.value % 1000) * 0.001);
    send(context, digest_);
  }

  void finish(FinalContext& context) override {
    context.state(events_);
    context.state(digest_);
    context.state(habit_->digest());
  }

 private:
  void send(Context& context, std::uint64_t value) {
    Random& random = context.random();
    const bool far = random.bernoulli(model_.remote), now = random.bernoulli(model_.zero);
    const auto any = static_cast<LpId>(random.below(context.lp_count()));
    const auto ticks =
        static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(model_.spread.value())));
    const LpId to = far ? any : context.self();
    const Duration wait = context.duration() + Duration::from_ticks(now ? 0 : 1 + ticks);
    if (random.bernoulli(model_.expanded))
      context.schedule_expanded(to, wait, Duration::from_ticks(ticks), Step{value});
    else
      context.schedule(to, wait, Step{value});
  }

  const NastyModel& model_;
  std::unique_ptr<Habit> habit_;
  std::uint64_t events_ = 0, digest_ = 1;
};

inline std::unique_ptr<LogicalProcessBase> NastyModel::create(LpId id) const {
  return std::make_unique<NastyLp>(*this, kinds_[id % kinds_.size()].make());
}

}  // namespace orrery::fuzz
