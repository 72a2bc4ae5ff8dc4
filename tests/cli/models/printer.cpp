// SPDX-License-Identifier: Apache-2.0
//
// An LP that acts on the outside, among walks that are rolled back: it writes what it is told to
// standard output and to a file, by the means of both languages. Some LP fails, if told to.
#include <cstdio>
#include <fstream>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>

#include "orrery/orrery.h"

namespace {

using orrery::Context;
using orrery::Duration;
using orrery::LpExecution;
using orrery::LpId;
using orrery::Parameter;

struct Line {
  std::uint32_t walker, steps;
};
struct Walk {
  std::uint32_t steps, padding;
};

constexpr LpId kPrinter = 0;

class Printer final : public orrery::Model {
 public:
  Parameter<std::string> path{*this, "path", "", {.help = "file that is written, too"}};
  Parameter<std::int64_t> fail_at{
      *this, "fail_at", -1, {.help = "a walk ends with a fault there", .minimum = -1}};

  std::uint64_t lp_count() const override { return 24; }
  std::unique_ptr<orrery::LogicalProcessBase> create(LpId) const override;
  LpExecution execution_of(LpId id) const override {
    return id == kPrinter ? LpExecution::committed : LpExecution::speculative;
  }
};

class Node final : public orrery::LogicalProcess<Node, Line, Walk> {
 public:
  explicit Node(const Printer& model) : model_(model) {}
  void start(Context& context) override {
    if (context.self() == kPrinter) {
      if (!model_.path.value().empty()) file_.open(model_.path.value());
    } else {
      context.schedule(context.self(), Duration::milliseconds(context.self()), Walk{0, 0});
    }
  }
  void handle(Context& context, const Line& line) {
    std::printf("said %u", line.walker);
    std::fflush(stdout);
    std::cout << " " << line.steps << " at " << context.now().ticks() << std::endl;
    file_ << line.walker << " " << line.steps << "\n";
  }
  void handle(Context& context, const Walk& walk) {
    if (walk.steps == model_.fail_at) throw std::runtime_error("a walk is too long");
    auto& random = context.random();
    context.schedule(kPrinter, Duration::milliseconds(3), Line{context.self(), walk.steps});
    const auto next = static_cast<LpId>(1 + random.below(context.lp_count() - 1));
    const Duration delay = Duration::from_ticks(random.integer(1, 40'000'000));
    context.schedule(next, delay, Walk{walk.steps + 1, 0});
  }

 private:
  const Printer& model_;
  std::ofstream file_;
};

std::unique_ptr<orrery::LogicalProcessBase> Printer::create(LpId) const {
  return std::make_unique<Node>(*this);
}

ORRERY_MODEL(Printer, "printer", "writes what it is told");

}  // namespace
