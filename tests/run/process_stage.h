// SPDX-License-Identifier: Apache-2.0
//
// A model of one LP whose processes a test gives as lambdas, and which note letters: the cases of
// processes run it on every engine and compare what was noted, each letter with its time.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "orrery/orrery.h"
#include "orrery/process.h"
#include "run/engine_cases.h"

namespace orrery::testing {

class Stage;

/// Of one LP, whose processes are the test's. They note what they come to by a letter.
class Play final : public Model {
 public:
  explicit Play(std::function<void(Stage&)> script) : begin(std::move(script)) {}
  std::uint64_t lp_count() const override { return 1; }
  Time default_horizon() const override { return Time::from_ticks(1'000); }
  std::unique_ptr<LogicalProcessBase> create(LpId) const override;

  const std::function<void(Stage&)> begin;
  const ResourceMetrics metrics{*this, "desk"};
  const Table notes{*this, "notes", {{"letter", ColumnType::integer}}, "in their order"};
};

class Stage final : public ProcessLp<Stage, Step> {
 public:
  explicit Stage(const Play& play) : play_(play) {}
  void begin() override { play_.begin(*this); }
  void handle(const Step& step) {
    if (on_step != nullptr) on_step(*this, step);
  }
  void finish(FinalContext& context) override {
    context.state(process_count());
    context.state(servers.waiting());
  }
  const ResourceMetrics& metrics() const { return play_.metrics; }
  void note(char letter) { emit(play_.notes, static_cast<int>(letter)); }

  void (*on_step)(Stage&, const Step&) = nullptr;
  Servers servers{1, 2};
  Mailbox<std::string> mailbox;
  Signal signal;
  Container tank{10, 4};
  PreemptiveServers crane{*this, 1, 3};
  ProcessRef other;

 private:
  const Play& play_;
};

inline std::unique_ptr<LogicalProcessBase> Play::create(LpId) const {
  return std::make_unique<Stage>(*this);
}

class ProcessSemantics : public OnEveryEngine {
 protected:
  static std::string told(const Outcome& outcome) {
    std::string text;
    for (const auto& [key, lp, ordinal, table, cells] : outcome.rows) {
      if (!text.empty()) text += ' ';
      text += static_cast<char>(cells.at(0)) + std::to_string(key.time().ticks());
    }
    return text;
  }
  /// The letters, each with its time.
  static std::string told(std::function<void(Stage&)> begin) {
    return told(expect_completed(Play(std::move(begin))));
  }
  static void expect_fault(std::function<void(Stage&)> begin, const std::string& part) {
    const Play play(std::move(begin));
    const Outcome expected = reference(play), actual = run(play);
    EXPECT_EQ(actual.result.end, RunEnd::fault);
    EXPECT_EQ(actual.result.fault, expected.result.fault);
    EXPECT_NE(actual.result.fault.find(part), std::string::npos) << actual.result.fault;
  }
};

}  // namespace orrery::testing
