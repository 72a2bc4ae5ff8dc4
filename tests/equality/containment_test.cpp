// SPDX-License-Identifier: Apache-2.0
//
// Handlers that crash, overrun their stack or end the process in states that never commit: no run
// is ended by it, and all commit what the sequential engine commits. The same in an event that
// commits: every engine that can drop a handler ends the run with the same sentence, and everything
// before it is committed.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/model_stack.h"
#include "crashes.h"
#include "engine/auto/settings.h"
#include "equality/asker.h"
#include "equality/model_of.h"
#include "equality/run_model.h"
#include "equality/time_warp_shape.h"
#include "orrery/orrery.h"
#include "run/containment/crash_guard.h"
#include "run/containment/frame_names.h"

#undef NDEBUG  // models may be built with assertions
#include <cassert>

namespace orrery::testing {
namespace {

enum class How {
  segv,
  fpe,
  ill,
  abort,
  assertion,
  terminate,
  stack,
  stack_in_platform,
  exit,
  in_catch,
  wiped,
  thrown
};

[[gnu::noinline]] void throw_something() {
  throw std::runtime_error("too far");
}
void let_nothing_out() noexcept {
  throw_something();
}

class CrashingModel;

/// Cannot bear an answer that nobody asked for.
class CrashingLp final : public Asker {
 public:
  explicit CrashingLp(const CrashingModel& model);

 private:
  void has_asked(Context& context, std::uint64_t questions) override;
  void bear_unasked(Context& context, const Answer& answer) override;
  void crash(Context& context);
  /// The stack ends in here, not in what is called next.
  [[gnu::noinline]] static char look_ahead() {
    volatile char below[4096];
    below[0] = 1;
    return below[0];
  }
  std::uint64_t send_without_end(Context& context, std::uint64_t depth);

  const CrashingModel& model_;
  std::vector<std::uint64_t> spoilt_;
  std::uint64_t sink_ = 0;
};

class CrashingModel final : public Model {
 public:
  explicit CrashingModel(How way, std::uint64_t committed = 0)
      : how(way), crash_at_question(committed) {}
  std::uint64_t lp_count() const override { return shape.lps; }
  std::unique_ptr<LogicalProcessBase> create(LpId) const override {
    return std::make_unique<CrashingLp>(*this);
  }

  static constexpr AskerShape shape{12, 20, 0.05};

  const How how;
  const std::uint64_t crash_at_question;  ///< of LP 3; 0: none that commits
  /// There a crash within a library ends the process, and whether a stack ends within malloc or
  /// above it is a matter of a few bytes.
  bool in_ordinary_memory = false;
  mutable std::atomic<std::uint64_t> crashes{0};
};

CrashingLp::CrashingLp(const CrashingModel& model) : Asker(model.shape), model_(model) {}

std::uint64_t CrashingLp::send_without_end(Context& context, std::uint64_t depth) {
  volatile char room[256];
  if (model_.in_ordinary_memory) look_ahead();
  room[depth % 256] = 1;
  if (depth % 64 == 0) context.schedule(context.self(), Duration::from_ticks(1), Tick{});
  const std::vector<double> own(200 + depth % 7);
  return depth > 100'000'000 ? 0 : send_without_end(context, depth + 1) + room[0] + own.size();
}

void CrashingLp::has_asked(Context& context, std::uint64_t questions) {
  if (context.self() == 3 && questions == model_.crash_at_question) crash(context);
}

void CrashingLp::bear_unasked(Context& context, const Answer&) {
  model_.crashes.fetch_add(1, std::memory_order_relaxed);
  crash(context);
}

void CrashingLp::crash(Context& context) {
  switch (model_.how) {
    case How::segv:
      spoilt_.assign(100, 1);
      *nowhere = 1;
      break;
    case How::fpe:
      seven = seven / zero;
      break;
    case How::ill:
      __builtin_trap();
    case How::abort:
      std::abort();
    case How::assertion:
      assert(zero > 0);
      break;
    case How::terminate:
      let_nothing_out();
      break;
    case How::stack:
      sink_ += static_cast<std::uint64_t>(descend(0));
      break;
    case How::stack_in_platform:
      sink_ += send_without_end(context, 0);
      break;
    case How::exit:
      std::exit(0);
    case How::in_catch:
      try {
        throw std::runtime_error("caught");
      } catch (const std::exception&) {
        *nowhere = 1;
      }
      break;
    case How::wiped:
      std::memset(static_cast<void*>(this), 0, sizeof *this);
      *nowhere = 1;
      break;
    case How::thrown:
      throw std::runtime_error("thrown");
  }
}

struct Case {
  How how;
  const char* name;
  const char* says;  ///< if it commits
};
constexpr Case kCases[] = {
    {How::segv, "segv", "a crash (SIGSEGV, "},
    {How::fpe, "fpe", "a crash (SIGFPE, "},
    {How::ill, "ill", "a crash (SIGILL, "},
    {How::abort, "abort", "a crash (SIGABRT, "},
    {How::assertion, "assertion", "an assertion failed: zero > 0 ("},
    {How::terminate, "terminate", "std::terminate was called (the exception: too far)"},
    {How::stack, "stack", "KiB is exhausted (a recursion without end?)"},
    {How::stack_in_platform, "stack_in_platform", "KiB is exhausted (a recursion without end?)"},
    {How::exit, "exit", "it called exit(); "},
    {How::in_catch, "in_catch", "a crash (SIGSEGV, "},
    {How::wiped, "wiped", "a crash (SIGSEGV, "},
    {How::thrown, "thrown", "an exception left the handler: thrown"},
};

/// Of handlers that are not inlined into the platform's code, where there are names.
bool names_the_handler(How how) {
  return how != How::terminate && how != How::stack && how != How::stack_in_platform &&
         how != How::thrown;
}

class Containment : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (!ORRERY_MODEL_STACKS) GTEST_SKIP() << "a crash ends the process here";
  }
  const CrashGuard guard_;
};

/// All together, since no single run must guess wrong.
TEST_P(Containment, WrongGuessesEndNoRun) {
  const CrashingModel model(GetParam().how);
  RunOptions options;
  options.until = Time::from_ticks(3000);
  const Outcome expected = run_model(model, "sequential", options);
  ASSERT_EQ(expected.result.end, RunEnd::completed) << expected.result.fault;
  ASSERT_EQ(model.crashes, 0u) << "in order, none crashes";
  ::testing::internal::CaptureStderr();
  for (const unsigned workers : {2u, 4u}) {
    for (const auto& [checkpoint, offload] : kStrategies) {
      TimeWarpShape shape{workers, 0};
      shape.checkpoint = checkpoint;
      shape.offload = offload;
      const RunOptions own = shape.apply_shape(options);
      const Outcome actual = run_model(model, "timewarp", own);
      ASSERT_EQ(actual.result.end, RunEnd::completed) << actual.result.fault;
      EXPECT_EQ(actual.result.fingerprint, expected.result.fingerprint) << checkpoint;
      EXPECT_EQ(actual.result.committed, expected.result.committed) << checkpoint;
    }
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "") << "nothing uncommitted is told";
  EXPECT_GT(model.crashes, 0u) << "nobody guessed wrong: this has shown nothing";
}

TEST_P(Containment, OneThatCommitsIsTheRunsFault) {
  CrashingModel model(GetParam().how, 50);
  RunOptions options;
  options.until = Time::from_ticks(3000);
  std::string told;
  std::uint64_t fingerprint = 0, committed = 0;
  const auto expect_fault = [&](const Outcome& outcome, const std::string& what) {
    ASSERT_EQ(outcome.result.end, RunEnd::fault) << what;
    if (told.empty()) {
      told = outcome.result.fault;
      fingerprint = outcome.result.fingerprint;
      committed = outcome.result.committed;
      EXPECT_NE(told.find("model fault in LP 3, event"), std::string::npos) << told;
      EXPECT_NE(told.find(GetParam().says), std::string::npos) << told;
    }
    if (can_name_frames() && names_the_handler(GetParam().how)) {
      EXPECT_NE(told.find("CrashingLp::crash("), std::string::npos) << told;
    }
    EXPECT_EQ(outcome.result.fault, told) << what;
    EXPECT_EQ(outcome.result.fingerprint, fingerprint) << what;
    EXPECT_EQ(outcome.result.committed, committed) << what;
  };
  RunOptions own = options;
  own.bind = false;
  model.in_ordinary_memory = true;
  for (const char* engine : {"sequential", "conservative", "expanded"}) {
    own.workers = 1;
    expect_fault(run_model(model, engine, own), engine);
  }
  own.workers = 4;
  expect_fault(run_model(model, "expanded", own), "expanded, 4 workers");
  model.in_ordinary_memory = false;
  own.set(automatic::kHandOverEvery, 100);
  for (const char* candidates :
       {"timewarp:2", "timewarp:4", "sequential,timewarp:2", "expanded:2,timewarp:1"}) {
    own.set(automatic::kCandidates, candidates);
    expect_fault(run_model(model, "auto", own), candidates);
  }
}

/// Nobody sends to anybody else, so nothing is rolled back.
class LoneLp final : public LogicalProcess<LoneLp, Tick> {
 public:
  explicit LoneLp(std::atomic<int>& failures) : failures_(failures) {}
  void start(Context& context) override {
    context.schedule(context.self(), Duration::from_ticks(1), Tick{});
  }
  void handle(Context& context, const Tick&) {
    context.schedule(context.self(), Duration::from_ticks(1), Tick{});
    if (context.self() == 3 && ++ticks_ == 50 && failures_.fetch_add(1) == 0)
      throw std::runtime_error("thrown");
  }
  void finish(FinalContext& context) override { context.state(ticks_); }

 private:
  std::atomic<int>& failures_;  ///< outside, as it must not be
  std::uint64_t ticks_ = 0;
};

using LoneModel = ModelOf<LoneLp, std::atomic<int>, 40>;

/// A fault that does not come again from the same state is the run's fault, and is told as what it
/// is. The engines that begin an event once cannot know.
TEST(Repetition, AFaultThatDoesNotComeAgainIsSaidNotTo) {
  for (const char* checkpoint : {"auto", "copy", "periodic:7", "incremental"}) {
    const LoneModel model;
    RunOptions options;
    options.until = Time::from_ticks(300);
    TimeWarpShape shape{2, 0};
    shape.checkpoint = checkpoint;
    const Outcome outcome = run_model(model, "timewarp", shape.apply_shape(options));
    ASSERT_EQ(outcome.result.end, RunEnd::fault) << checkpoint;
    EXPECT_NE(outcome.result.fault.find("thrown"), std::string::npos) << outcome.result.fault;
    EXPECT_NE(outcome.result.fault.find("it went well when it was executed again"),
              std::string::npos)
        << outcome.result.fault;
  }
}

/// Handles each event well the first time, and crashes where it handles one again.
class OnceLp final : public LogicalProcess<OnceLp, Tick> {
 public:
  using Seen = std::array<std::atomic<std::uint64_t>, 40>;
  explicit OnceLp(Seen& seen) : seen_(seen) {}
  void start(Context& context) override { send(context); }
  void handle(Context& context, const Tick&) {
    ++ticks_;
    // The numbers of its ticks: the highest so far is outside of the LP, as it must not be.
    if (seen_[context.self()].exchange(ticks_) >= ticks_) *nowhere = 1;
    send(context);
  }
  void finish(FinalContext& context) override { context.state(ticks_); }

 private:
  static void send(Context& context) {
    const auto to = static_cast<LpId>(context.random().below(context.lp_count()));
    context.schedule(
        to, Duration::from_ticks(1 + static_cast<std::int64_t>(context.random().below(20))),
        Tick{});
  }
  Seen& seen_;
  std::uint64_t ticks_ = 0;
};

using OnceModel = ModelOf<OnceLp, OnceLp::Seen, 40>;

/// Whether an event was rolled back and is executed again, or an LP coasts forward: it is a fault
/// of the model, and says which.
TEST(CoastingCrashes, AreTold) {
  if (!ORRERY_MODEL_STACKS) GTEST_SKIP() << "a crash ends the process here";
  const CrashGuard guard;
  bool told = false;
  for (int i = 0; i < 20 && !told; ++i) {
    const OnceModel model;
    RunOptions options;
    options.until = Time::from_ticks(2000);
    TimeWarpShape shape{4, 0};
    shape.checkpoint = "periodic:9";
    const Outcome outcome = run_model(model, "timewarp", shape.apply_shape(options));
    if (outcome.result.end != RunEnd::fault) continue;
    EXPECT_NE(outcome.result.fault.find("a crash (SIGSEGV, "), std::string::npos)
        << outcome.result.fault;
    told =
        outcome.result.fault.find("it went well when it was executed first") != std::string::npos;
  }
  EXPECT_TRUE(told);
}

INSTANTIATE_TEST_SUITE_P(Ways, Containment, ::testing::ValuesIn(kCases),
                         [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace orrery::testing
