// SPDX-License-Identifier: Apache-2.0
//
// Events that send each other on without delay, from some time on without end: every engine must
// stop at the same step of the same chain and say the same about it.
#include "orrery/orrery.h"

namespace orrery::fuzz {
namespace {

struct Hop {
  std::uint64_t value;
};

class Livelock final : public Model {
 public:
  Parameter<std::int64_t> lps{*this, "lps", 8, {.help = "LPs", .minimum = 1, .maximum = 65536}};
  Parameter<std::int64_t> circle{
      *this, "circle", 3, {.help = "LPs that the endless chain visits", .minimum = 1}};
  Parameter<double> stray{
      *this, "stray", 0, {.help = "share of hops to any LP", .minimum = 0.0, .maximum = 1.0}};
  Parameter<std::int64_t> at{*this, "at", 100, {.help = "when it begins", .unit = "ticks"}};

  std::uint64_t lp_count() const override { return static_cast<std::uint64_t>(lps.value()); }
  std::unique_ptr<LogicalProcessBase> create(LpId) const override;
  Time default_horizon() const override { return Time::from_ticks(1'000); }
};

class LivelockLp final : public LogicalProcess<LivelockLp, Hop> {
 public:
  explicit LivelockLp(const Livelock& model) : model_(model) {}
  void start(Context& context) override {
    context.schedule(context.self(), Duration::from_ticks(1 + context.self() % 5), Hop{1});
  }
  void handle(Context& context, const Hop& hop) {
    ++hops_;
    Random& random = context.random();
    const auto any = static_cast<LpId>(random.below(context.lp_count()));
    const auto ticks = static_cast<std::int64_t>(1 + random.below(5));
    if (context.now().ticks() < model_.at)
      return context.schedule(any, Duration::from_ticks(ticks), Hop{hop.value * 3});
    const auto next = (context.self() + 1) % static_cast<LpId>(model_.circle.value());
    const LpId to = random.bernoulli(model_.stray) ? any : next % context.lp_count();
    context.schedule(to, Duration::zero(), Hop{hop.value + 1});
  }
  void finish(FinalContext& context) override { context.state(hops_); }

 private:
  const Livelock& model_;
  std::uint64_t hops_ = 0;
};

std::unique_ptr<LogicalProcessBase> Livelock::create(LpId) const {
  return std::make_unique<LivelockLp>(*this);
}

ORRERY_MODEL(Livelock, "livelock", "a chain of events without delay that does not end");

}  // namespace
}  // namespace orrery::fuzz
