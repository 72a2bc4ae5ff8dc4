// SPDX-License-Identifier: Apache-2.0
//
// A model whose parameters have names that Python's functions and the command use, too, and whose
// rows hold the numbers and texts that are hard to hand over.
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>

#include "orrery/orrery.h"

namespace {

using orrery::ColumnType;
using orrery::Context;
using orrery::Duration;
using orrery::LpId;
using orrery::Parameter;

struct Tick {};

class Clash final : public orrery::Model {
 public:
  Parameter<std::int64_t> workers{*this, "workers", 3, {.help = "people at work"}};
  Parameter<std::int64_t> checkpoint{*this, "checkpoint", 5, {.help = "where papers are shown"}};
  Parameter<std::string> model{*this, "model", "T", {.help = "of the car"}};
  Parameter<std::string> text{*this, "text", "", {.help = "any"}};
  Parameter<bool> flag{*this, "flag", false, {.help = "up or down"}};
  Parameter<double> real{*this, "real", 0.5, {.help = "a number"}};
  Parameter<Duration> span{*this, "span", Duration::seconds(1), {.help = "a time"}};

  orrery::Metric once{*this, "once", "1", "recorded once"};
  orrery::Metric never{*this, "never", "1", "not recorded"};
  orrery::Table hard{*this,
                     "hard",
                     {{"large", ColumnType::integer}, {"value", ColumnType::real, "m/s"}},
                     "numbers"};
  orrery::Table words{*this,
                      "words",
                      {{"word", ColumnType::text}, {"value", ColumnType::real}},
                      "texts that are taken for something else"};
  orrery::Table empty{
      *this, "empty", {{"from", ColumnType::integer}, {"share", ColumnType::real}}, "no rows"};

  std::uint64_t lp_count() const override { return 1; }
  std::unique_ptr<orrery::LogicalProcessBase> create(LpId) const override;
  orrery::Time default_horizon() const override {
    return orrery::Time::zero() + Duration::seconds(10);
  }
  void report(orrery::Report& report, orrery::Time) const override {
    report.value("workers_twice", 2.0 * static_cast<double>(workers.value()), "", "a result");
    report.value("nothing", std::nan(""), "", "no number");
    report.text("said", text.value(), "the text");
  }
};

class Node final : public orrery::LogicalProcess<Node, Tick> {
 public:
  explicit Node(const Clash& model) : model_(model) {}
  void start(Context& context) override { context.schedule(0, Duration::seconds(1), Tick{}); }
  void handle(Context& context, const Tick&) {
    using Real = std::numeric_limits<double>;
    context.record(model_.once, 2.5);
    context.emit(model_.hard, std::numeric_limits<std::int64_t>::max(), 0.1);
    context.emit(model_.hard, std::numeric_limits<std::int64_t>::min(), Real::infinity());
    context.emit(model_.hard, (std::int64_t{1} << 53) + 1, Real::quiet_NaN());
    context.emit(model_.hard, 0, -Real::denorm_min());
    context.emit(model_.hard, 1, 1.0 / 3);
    for (const char* word : {"", "None", "NA", "nan", "1e3", "007", "a,\"b\"", "two\nlines", " "})
      context.emit(model_.words, word, std::nan(""));
    context.emit(model_.words, "\xff is not UTF-8", 0.5);
  }

 private:
  const Clash& model_;
};

std::unique_ptr<orrery::LogicalProcessBase> Clash::create(LpId) const {
  return std::make_unique<Node>(*this);
}

ORRERY_MODEL(Clash, "clash", "names that are taken, numbers that are hard");

}  // namespace
