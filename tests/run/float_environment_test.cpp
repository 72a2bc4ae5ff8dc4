// SPDX-License-Identifier: Apache-2.0
//
// Whatever a model leaves of the floating-point environment (core/float_environment.h), nobody
// else meets it: a model that leaves it changed everywhere commits, to the last bit, what the same
// model commits that leaves it alone.
#include <cfenv>
#include <stdexcept>

#include "checkpoint/options.h"
#include "core/float_environment.h"
#include "run/engine_cases.h"

namespace orrery::testing {
namespace {

struct Tick {
  std::uint64_t value;
};

class Rounded final : public Model {
 public:
  explicit Rounded(bool leaves) : leaves_(leaves) {}
  std::uint64_t lp_count() const override { return 12; }
  Time default_horizon() const override { return Time::from_ticks(600); }
  std::unique_ptr<LogicalProcessBase> create(LpId) const override;

  /// What each piece of the model's code ends with.
  void leave(int mode) const {
    if (leaves_) std::fesetround(mode);
  }
  const Metric thirds{*this, "thirds", "", "sums of thirds, which are rounded"};
  std::uint64_t fails_at = 0;

 private:
  const bool leaves_;
};

class RoundedLp final : public LogicalProcess<RoundedLp, Tick> {
 public:
  explicit RoundedLp(const Rounded& model) : model_(model) { note(); }
  void start(Context& context) override {
    note();
    for (std::uint64_t i = 0; i < 3; ++i) context.schedule(context.self(), ticks(1), Tick{i});
    model_.leave(FE_TOWARDZERO);
  }
  void handle(Context& context, const Tick& tick) {
    note();
    const double before = sum_;
    context.remember(before);
    ++events_;
    sum_ = sum_ + static_cast<double>(tick.value % 1000) / 3;
    context.record(model_.thirds, sum_);
    const auto to = static_cast<LpId>(context.random().below(context.lp_count()));
    const auto wait = context.random().integer(0, 20);
    context.schedule(to, ticks(wait), Tick{tick.value * 7 + to});
    model_.leave(tick.value % 3 == 0 ? FE_UPWARD : FE_DOWNWARD);
    if (events_ == model_.fails_at) throw std::runtime_error("told to fail");
  }
  void reverse(ReverseContext& context, const Tick&) {
    sum_ = context.recall<double>();
    --events_;
    model_.leave(FE_UPWARD);
  }
  void finish(FinalContext& context) override {
    note();
    context.state(strange_);
    context.state(std::bit_cast<std::uint64_t>(sum_));
    context.record(model_.thirds, sum_ / 3);
    model_.leave(FE_DOWNWARD);
  }

 private:
  void note() { strange_ += std::fegetround() != FE_TONEAREST ? 1 : 0; }

  const Rounded& model_;
  volatile double sum_ = 0;  // computed at run time
  std::uint64_t events_ = 0, strange_ = 0;
};

std::unique_ptr<LogicalProcessBase> Rounded::create(LpId) const {
  auto lp = std::make_unique<RoundedLp>(*this);
  leave(FE_UPWARD);
  return lp;
}

class FloatEnvironments : public OnEveryEngine {};

TEST_P(FloatEnvironments, AreTheModelsOwnAffair) {
  const Rounded tidy(false), leaving(true);
  for (const char* checkpoint : {"auto", "reverse", "periodic:50"}) {
    RunOptions options;
    if (GetParam().engine == "timewarp") options.set(checkpoint::kCheckpoint, checkpoint);
    const Outcome actual = run(leaving, options);
    EXPECT_EQ(std::fegetround(), FE_TONEAREST);
    expect_same(reference(tidy), actual, checkpoint);
    if (GetParam().engine != "timewarp") break;  // the others take no such option
  }
}

TEST_P(FloatEnvironments, OfAHandlerThatFailsToo) {
  Rounded tidy(false), leaving(true);
  tidy.fails_at = leaving.fails_at = 15;
  const Outcome actual = run(leaving);
  EXPECT_EQ(actual.result.end, RunEnd::fault);
  EXPECT_EQ(std::fegetround(), FE_TONEAREST);
  expect_same(reference(tidy), actual, GetParam().text());
}

/// What the caller has is no more the model's than what another handler leaves.
TEST_P(FloatEnvironments, OfTheCallerReachNoHandler) {
  const Rounded tidy(false);
  const Outcome expected = reference(tidy);
  std::fesetround(FE_UPWARD);
  const Outcome actual = run(tidy);
  EXPECT_EQ(std::fegetround(), FE_TONEAREST);
  expect_same(expected, actual, GetParam().text());
}

ORRERY_ON_EVERY_ENGINE(FloatEnvironments);

#if defined(__x86_64__)
TEST(FloatEnvironment, NoticesEachOfItsParts) {
  const unsigned usual = _mm_getcsr();
  for (const auto& [bits, text] :
       {std::pair(0x8000u, "subnormal"), {0x40u, "subnormal"}, {0x6000u, "toward zero"}}) {
    _mm_setcsr(usual | bits);
    floats_left().seen = false;
    ensure_default_floats();
    EXPECT_TRUE(floats_left().seen) << bits;
    EXPECT_NE(describe(floats_left().control).find(text), std::string::npos) << bits;
    EXPECT_EQ(FloatControl::now(), FloatControl{}) << bits;
  }
  const std::uint16_t short_precision = 0x027f;
  asm volatile("fldcw %0" : : "m"(short_precision));
  ensure_default_floats();
  EXPECT_NE(describe(floats_left().control).find("long double"), std::string::npos);
  feenableexcept(FE_DIVBYZERO);
  ensure_default_floats();
  EXPECT_NE(describe(floats_left().control).find("trapped"), std::string::npos);
  EXPECT_EQ(FloatControl::now(), FloatControl{});
  // Flags are left alone: clearing them would be a write for each event.
  std::feraiseexcept(FE_INEXACT);
  floats_left().seen = false;
  ensure_default_floats();
  EXPECT_FALSE(floats_left().seen);
}
#endif

}  // namespace
}  // namespace orrery::testing
