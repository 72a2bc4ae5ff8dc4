// SPDX-License-Identifier: Apache-2.0
//
// Nodes that pass parcels on, after a while or at once, and record everything that metrics can
// keep: values of every size, levels, rates. Each value is also a row, from which a test can tell
// what is right. LPs have reverse handlers, so that metrics meet every kind of checkpoint.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/lp_recording.h"
#include "orrery/orrery.h"

namespace orrery::testing {

struct MeteredOptions {
  LpId nodes = 24;
  std::uint64_t parcels = 3;            ///< each node's at the start
  Duration promise = Duration::zero();  ///< no parcel takes less from node to node
  Time observed = Time::zero();         ///< from then on metrics count
};

struct Arriving {
  std::uint64_t number;
  std::int64_t sent_ticks;
};
struct Leaving {
  std::uint64_t number;
};

class MeteredModel final : public Model {
 public:
  explicit MeteredModel(const MeteredOptions& chosen) : options(chosen) {
    for (Metric* metric : {&plain, &delay, &signed_value, &waiting})
      metric->observe_from(options.observed);
    for (Metric* metric : {&signed_value, &waiting, &at_end})
      metric->series(Duration::milliseconds(700));
  }
  std::uint64_t lp_count() const override { return options.nodes; }
  std::unique_ptr<LogicalProcessBase> create(LpId id) const override;
  Duration lookahead() const override { return options.promise; }
  Time default_horizon() const override { return Time::zero() + Duration::seconds(20); }
  std::string name_of(LpId id) const override {
    return id % 5 == 0 ? "" : "node" + std::to_string(id);
  }

  const MeteredOptions options;
  std::shared_ptr<const std::vector<LpRecording>> recordings;  ///< of the metrics; see RunOptions
  Metric plain{*this, "plain", "", "the values of `value`, and nothing beside"};
  Metric delay{*this, "delay", "s", "from node to node", Keep::histogram | Keep::rate};
  Metric waiting{*this, "waiting", "", "parcels at a node", Keep::level};
  Metric signed_value{*this, "value", "", "of both signs and every size", Keep::histogram};
  Metric at_end{*this, "at_end", "", "parcels at a node at the end", Keep::histogram};
  Metric area{*this, "area", "", "parcels at a node * seconds, from the time observed"};
  const Table values{*this, "values", {{"value"}}, "what is recorded of `value`"};
};

class MeteredNode final : public LogicalProcess<MeteredNode, Arriving, Leaving> {
 public:
  explicit MeteredNode(const MeteredModel& model) : model_(model) {}

  void start(Context& context) override {
    context.level(model_.waiting, 0);
    for (std::uint64_t i = 0; i < model_.options.parcels; ++i)
      send(context, context.self() * model_.options.parcels + i, context.self());
    record_value(context);
  }
  void handle(Context& context, const Arriving& parcel) {
    remember(context);
    change(context, 1);
    ++handled_;
    context.record(model_.delay,
                   (context.now() - Time::from_ticks(parcel.sent_ticks)).to_seconds());
    record_value(context);
    context.schedule(context.self(), context.random().exponential(Duration::milliseconds(300)),
                     Leaving{parcel.number});
  }
  void handle(Context& context, const Leaving& parcel) {
    remember(context);
    change(context, -1);
    ++handled_;
    const auto to = static_cast<LpId>(context.random().below(context.lp_count()));
    if (parcel.number % 3 == 0) record_value(context);
    send(context, parcel.number, to);
  }
  void reverse(ReverseContext& context, const Arriving&) { recall(context); }
  void reverse(ReverseContext& context, const Leaving&) { recall(context); }
  void finish(FinalContext& context) override {
    context.record(model_.at_end, waiting_);
    const Time from = std::max(since_, model_.options.observed);
    const double left = waiting_ * (context.now() - from).to_seconds();
    context.record(model_.area, area_ + (context.now() > from ? left : 0));
    context.state(handled_);
  }

 private:
  void send(Context& context, std::uint64_t number, LpId to) {
    Duration delay = context.random().exponential(Duration::milliseconds(700));
    if (number % 4 == 0) delay = Duration::zero();
    context.schedule(to, delay + model_.options.promise, Arriving{number, context.now().ticks()});
  }
  void record_value(Context& context) {
    Random& random = context.random();
    const double size = random.lognormal(0, 4);
    double value = random.bernoulli(0.3) ? -size : size;
    if (random.bernoulli(0.1)) value = static_cast<double>(random.integer(-3, 300));
    context.record(model_.plain, value);
    context.record(model_.signed_value, value);
    if (context.now() >= model_.options.observed) context.emit(model_.values, value);
  }
  void change(Context& context, int by) {
    const Time from = std::max(since_, model_.options.observed);
    if (context.now() > from) area_ += waiting_ * (context.now() - from).to_seconds();
    since_ = context.now();
    waiting_ += by;
    context.level(model_.waiting, waiting_);
  }
  void remember(Context& context) {
    context.remember(waiting_);
    context.remember(area_);
    context.remember(since_);
  }
  void recall(ReverseContext& context) {
    since_ = context.recall<Time>();
    area_ = context.recall<double>();
    waiting_ = context.recall<int>();
    --handled_;
  }

  const MeteredModel& model_;
  int waiting_ = 0;
  double area_ = 0;
  Time since_;
  std::uint64_t handled_ = 0;
};

inline std::unique_ptr<LogicalProcessBase> MeteredModel::create(LpId) const {
  return std::make_unique<MeteredNode>(*this);
}

}  // namespace orrery::testing
