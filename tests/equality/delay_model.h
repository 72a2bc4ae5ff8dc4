// SPDX-License-Identifier: Apache-2.0
//
// A seeded random model that promises delays: between single LPs of a complete graph, with clusters
// without any, or by lookahead() for all. Half of its sends take exactly what is promised, and
// delays are multiples of a grain, so that events lie exactly at the bounds that engines compute.
// Handlers notice what comes too early: each LP knows when its neighbours may reach it first.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "crashes.h"
#include "equality/any_phase.h"
#include "equality/witness.h"
#include "orrery/orrery.h"

namespace orrery::testing {

struct DelayModelOptions {
  enum class Promise : std::uint8_t {
    for_all,   ///< lookahead()
    by_edge,   ///< a complete graph
    clusters,  ///< the same, with groups of LPs that reach each other at once
    mixed      ///< lookahead(), and more for some pairs of a graph that is not complete
  };
  std::uint64_t shape = 1;  ///< seed of the model itself
  LpId lps = 40;
  Promise promise = Promise::by_edge;
  std::int64_t grain_ticks = 5;
  Duration horizon = Duration::from_ticks(5'000);
  std::int64_t fault_at_event = -1;  ///< some LPs fail at their n-th event; -1: never
  bool fault_is_crash = false;
  std::int64_t breach_at_event = -1;  ///< some send one tick too early at their n-th event
  int extra_work = 0;                 ///< steps of a busy loop in each event
  bool durations = false;             ///< some events are expanded
  bool phases = false;                ///< some sends name a phase
};

struct Visit {
  std::uint64_t value;
};
struct Alarm {
  std::uint64_t value;
};

class DelayModel;

class DelayLp final : public LogicalProcess<DelayLp, Visit, Alarm> {
 public:
  explicit DelayLp(const DelayModel& model) : model_(model) {}
  void start(Context& context) override;
  void finish(FinalContext& context) override;
  void handle(Context& context, const Visit& visit);
  void handle(Context& context, const Alarm& alarm);

 private:
  void note(Context& context, std::uint64_t value);
  void visit_neighbour(Context& context, std::uint64_t value);
  Duration beyond(Context& context, Duration least);

  const DelayModel& model_;
  std::uint64_t events_ = 0, digest_ = 0;
  std::list<std::string> log_;
  Timer alarm_;
};

class DelayModel : public Model {
 public:
  using Promise = DelayModelOptions::Promise;
  struct Neighbour {
    LpId to;
    Duration minimum_delay;
  };

  explicit DelayModel(DelayModelOptions chosen) : options(chosen) { make_neighbours(); }
  void make_neighbours() {
    neighbours.assign(options.lps, {});
    for (LpId from = 0; from < options.lps; ++from)
      for (unsigned i = 0; i < 1 + draw(from, 0) % 4; ++i) add(from, i);
  }
  std::uint64_t lp_count() const override { return options.lps; }
  std::unique_ptr<LogicalProcessBase> create(LpId) const override {
    return std::make_unique<DelayLp>(*this);
  }
  Time default_horizon() const override { return Time::zero() + options.horizon; }
  Duration lookahead() const override {
    return promises_for_all() ? Duration::from_ticks(options.grain_ticks) : Duration::zero();
  }
  void communication(CommunicationGraph& graph) const override {
    if (options.promise == Promise::for_all) return;
    for (LpId from = 0; from < options.lps; ++from)
      for (const Neighbour& one : neighbours[from])
        if (one.to != from) graph.connect(from, one.to, one.minimum_delay);
    if (options.promise != Promise::mixed) graph.complete();
  }
  bool promises_for_all() const {
    return options.promise == Promise::for_all || options.promise == Promise::mixed;
  }

  DelayModelOptions options;
  Witness* witness = nullptr;                      ///< of events of LPs that must not roll back
  std::vector<std::vector<Neighbour>> neighbours;  ///< of each LP
  const Metric values{*this, "values", "", "values noted", Keep::histogram};
  const Table notes{*this, "notes", {{"value", ColumnType::integer}}, "some events"};

 private:
  static constexpr LpId kGroup = 5;

  std::uint64_t draw(std::uint64_t a, std::uint64_t b) const {
    std::uint64_t x = options.shape * 0x9e3779b97f4a7c15u + a * 0xbf58476d1ce4e5b9u + b;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  }
  /// A pair is there once, so that it has one promise.
  void add(LpId from, unsigned i) {
    LpId to = static_cast<LpId>(draw(from, 10 + i) % options.lps);
    const bool near = options.promise == Promise::clusters && i == 0;
    if (near) to = from / kGroup * kGroup + (from + 1) % kGroup;
    if (to >= options.lps) return;
    for (const Neighbour& other : neighbours[from])
      if (other.to == to) return;
    constexpr std::int64_t kGrains[] = {1, 1, 2, 7};
    const std::int64_t grains = near || to == from ? 0 : kGrains[draw(from, 20 + i) % 4];
    const Duration delay = Duration::from_ticks(grains * options.grain_ticks);
    neighbours[from].push_back({to, delay});
  }
};

inline Duration DelayLp::beyond(Context& context, Duration least) {
  auto& random = context.random();
  const Duration grain = Duration::from_ticks(model_.options.grain_ticks);
  const std::uint64_t kind = random.below(8);
  if (kind < 4) return least;
  return least + grain * static_cast<std::int64_t>(kind == 7 ? random.below(60) : random.below(4));
}

/// At least now and then time must pass, or it is a livelock.
inline void DelayLp::visit_neighbour(Context& context, std::uint64_t value) {
  const auto& neighbours = model_.neighbours[context.self()];
  const Duration grain = Duration::from_ticks(model_.options.grain_ticks);
  LpId to = context.self();
  Duration least = Duration::zero();
  if (!neighbours.empty() && context.random().below(4) > 0) {
    const auto& chosen = neighbours[context.random().below(neighbours.size())];
    to = chosen.to;
    least = chosen.minimum_delay;
  }
  if (model_.promises_for_all() && to != context.self()) least = std::max(least, grain);
  if (least == Duration::zero() && value % 4 != 0) least = grain;
  const Duration wait = beyond(context, least) + context.duration();
  if (model_.options.durations && value % 3 == 0)
    return context.schedule_expanded(to, wait, grain * static_cast<std::int64_t>(value % 4),
                                     Visit{value * 3 + 1});
  if (model_.options.phases && value % 2 == 0)
    return context.schedule(to, wait, Visit{value * 3 + 1}, any_phase(context, wait));
  context.schedule(to, wait, Visit{value * 3 + 1});
}

inline void DelayLp::start(Context& context) {
  for (int i = 0; i < 2; ++i) visit_neighbour(context, context.self() + 1);
}

inline void DelayLp::note(Context& context, std::uint64_t value) {
  ++events_;
  digest_ =
      (digest_ ^ value) * 0x9e3779b97f4a7c15u + static_cast<std::uint64_t>(context.now().ticks());
  volatile std::uint64_t sink = value;
  for (int i = 0; i < model_.options.extra_work; ++i) sink = sink * 31 + 1;
  if (model_.witness != nullptr) model_.witness->see(context, events_, value);
  const auto count = static_cast<std::int64_t>(events_);
  if (count == model_.options.fault_at_event && context.self() % 8 == 3) {
    if (model_.options.fault_is_crash) *nowhere = 1;
    throw std::runtime_error("told to fail at event " + std::to_string(events_));
  }
  if (count != model_.options.breach_at_event || context.self() % 8 != 3) return;
  for (const auto& neighbour : model_.neighbours[context.self()])
    if (neighbour.minimum_delay > Duration::zero())
      context.schedule(neighbour.to, neighbour.minimum_delay - Duration::from_ticks(1), Visit{0});
}

inline void DelayLp::handle(Context& context, const Visit& visit) {
  note(context, visit.value);
  if (visit.value % 5 == 0) log_.push_back(std::to_string(digest_));
  if (log_.size() > 6) log_.pop_front();
  visit_neighbour(context, visit.value + context.self());
  if (visit.value % 7 == 0) context.emit(model_.notes, visit.value);
  if (visit.value % 3 == 1) {
    if (context.cancel(alarm_)) digest_ += 3;
    const Duration wait = beyond(context, Duration::from_ticks(30)) + context.duration();
    alarm_ = context.schedule_timer(wait, Alarm{visit.value});
  }
  context.record(model_.values, static_cast<double>(visit.value % 1000) * 0.1);
}

inline void DelayLp::handle(Context& context, const Alarm& alarm) {
  note(context, alarm.value);
  context.emit(model_.notes, digest_);
}

inline void DelayLp::finish(FinalContext& context) {
  context.state(events_);
  context.state(digest_);
  for (const std::string& line : log_) context.state(line.size());
}

}  // namespace orrery::testing
