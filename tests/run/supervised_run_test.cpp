// SPDX-License-Identifier: Apache-2.0
//
// The end of a run that the system has let down.
#include "run/threads/supervised_run.h"

#include <gtest/gtest.h>

#include <functional>
#include <new>
#include <system_error>

#include "run/containment/faults.h"
#include "run/engine_cases.h"

namespace orrery::testing {
namespace {

class Ending final : public Engine {
 public:
  explicit Ending(std::function<RunResult()> end) : end_(std::move(end)) {}
  RunResult run(const Model&, const RunOptions&, RunControl& control) override {
    control.committed = 70;
    control.executed = 90;
    control.gvt_ticks = 1234;
    return end_();
  }

 private:
  const std::function<RunResult()> end_;
};

RunResult supervised(std::function<RunResult()> end) {
  const ScriptModel model(2);
  RunControl control;
  Ending engine(std::move(end));
  return run_supervised(engine, model, {}, control);
}

TEST(SupervisedRun, TellsWhatIsCertainOfAFailure) {
  for (const auto& end : std::vector<std::function<RunResult()>>{
           []() -> RunResult { throw std::bad_alloc(); },
           []() -> RunResult { throw SystemFailure("no threads"); },
           []() -> RunResult {
             throw std::system_error(std::make_error_code(std::errc::not_enough_memory));
           }}) {
    const RunResult result = supervised(end);
    EXPECT_EQ(result.end, RunEnd::failed);
    EXPECT_FALSE(result.fault.empty());
    EXPECT_EQ(result.committed, 70u);
    EXPECT_EQ(result.executed, 90u);
    EXPECT_EQ(result.reached, Time::from_ticks(1234));
    EXPECT_EQ(result.metrics.size(), ScriptModel(2).metrics().size());
    EXPECT_EQ(result.notes.size(), 1u);
  }
}

TEST(SupervisedRun, LetsInputAndModelSpeakForThemselves) {
  EXPECT_THROW(supervised([]() -> RunResult { throw UsageError("use another"); }), UsageError);
  EXPECT_THROW(supervised([]() -> RunResult { throw ModelFault("it is wrong"); }), ModelFault);
}

TEST(SupervisedRun, AFaultKeepsItsKind) {
  const auto faulty = [](std::string sentence) {
    return supervised([sentence] {
      RunResult result;
      result.end = RunEnd::fault;
      result.fault = sentence;
      return result;
    });
  };
  EXPECT_EQ(faulty("model fault in LP 1: it is wrong").end, RunEnd::fault);
  EXPECT_EQ(faulty(std::string(kSystemFailure) + "LP 1: no memory").end, RunEnd::failed);
}

}  // namespace
}  // namespace orrery::testing
