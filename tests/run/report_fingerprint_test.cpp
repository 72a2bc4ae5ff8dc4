// SPDX-License-Identifier: Apache-2.0
//
// What LPs report at the end of a run is part of its fingerprint: final state, metrics, rows.
#include "run/results/finish.h"

#include <gtest/gtest.h>

#include "orrery/orrery.h"
#include "run/engine.h"

namespace orrery {
namespace {

struct Poke {
  std::uint32_t value;
};

struct ReportChoice {
  std::uint64_t state = 1;
  double metric = 0.5;
  std::uint64_t row = 3;
  std::uint32_t payload = 4;
  bool second_metric = false;
};

class ReportModel;
class ReportLp final : public LogicalProcess<ReportLp, Poke> {
 public:
  explicit ReportLp(const ReportModel& model) : model_(model) {}
  void start(Context& context) override;
  void handle(Context& context, const Poke& poke);
  void finish(FinalContext& context) override;

 private:
  const ReportModel& model_;
};

class ReportModel final : public Model {
 public:
  explicit ReportModel(ReportChoice chosen) : choice(chosen) {}
  std::uint64_t lp_count() const override { return 3; }
  std::unique_ptr<LogicalProcessBase> create(LpId) const override {
    return std::make_unique<ReportLp>(*this);
  }
  const ReportChoice choice;
  const Metric first{*this, "first", "", "a metric"};
  const Metric second{*this, "second", "", "another"};
  const Table table{*this, "table", {{"cell", ColumnType::integer}}, "rows"};
};

void ReportLp::start(Context& context) {
  context.schedule(context.self(), Duration::from_ticks(1), Poke{model_.choice.payload});
}
void ReportLp::handle(Context& context, const Poke&) {
  context.record(model_.choice.second_metric ? model_.second : model_.first, model_.choice.metric);
  context.emit(model_.table, model_.choice.row);
}
void ReportLp::finish(FinalContext& context) {
  context.state(model_.choice.state);
}

TEST(Fingerprint, WhatLpsReportCounts) {
  const auto fingerprint_of = [](ReportChoice choice, std::int64_t until = 100) {
    const ReportModel model(choice);
    RunOptions options;
    options.until = Time::from_ticks(until);
    RunControl control;
    return find_engine("sequential").make()->run(model, options, control).fingerprint;
  };
  const std::uint64_t base = fingerprint_of({});
  EXPECT_EQ(fingerprint_of({}), base);
  EXPECT_NE(fingerprint_of({.state = 2}), base);
  EXPECT_NE(fingerprint_of({.metric = 0.25}), base);
  EXPECT_NE(fingerprint_of({.row = 4}), base);
  EXPECT_NE(fingerprint_of({.payload = 5}), base);
  EXPECT_NE(fingerprint_of({.second_metric = true}), base);
  EXPECT_NE(fingerprint_of({}, 1), base) << "the event lies behind the horizon";
}

}  // namespace
}  // namespace orrery
