// SPDX-License-Identifier: Apache-2.0
//
// A model that does, at a time of one's choice, one of the things that a run must survive or name.
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "orrery/orrery.h"

namespace {

using orrery::Context;
using orrery::Duration;
using orrery::LpId;

struct Step {};

volatile std::int64_t latest_step = 0;

std::int64_t wall_clock() {
  return std::chrono::steady_clock::now().time_since_epoch().count();
}

class Misfit final : public orrery::Model {
 public:
  orrery::Parameter<std::string> does{
      *this,
      "does",
      "nothing",
      {.help = "what goes wrong",
       .choices = {"nothing", "throw", "negative", "nowhere", "livelock", "hang", "clock", "static",
                   "prepare", "signal", "refuse", "report", "hoard", "large", "starve", "haste",
                   "misdirect"}}};
  orrery::Parameter<std::int64_t> at{*this, "at", 10, {.help = "at this step", .minimum = 1}};
  orrery::Parameter<std::int64_t> lps{*this, "lps", 4, {.help = "LPs", .minimum = 0}};
  orrery::Parameter<std::int64_t> rows{
      *this, "rows", 1, {.help = "rows per step", .minimum = 0, .maximum = 1000}};
  orrery::Parameter<std::string> names{
      *this,
      "names",
      "none",
      {.help = "names of LPs",
       .choices = {"none", "plain", "markup", "control", "throw", "crash"}}};
  orrery::Metric steps{*this, "steps", "1", "steps done"};
  orrery::Table track{*this,
                      "track",
                      {{"step", orrery::ColumnType::integer}, {"noise", orrery::ColumnType::real}},
                      "one row a step"};

  void prepare() override {
    if (does.value() == "prepare") throw std::out_of_range("no such street");
    if (does.value() == "signal") std::signal(SIGURG, [](int) {});
    if (does.value() == "refuse") throw orrery::UsageError("map.txt, line 7: a number is expected");
  }
  std::uint64_t lp_count() const override { return static_cast<std::uint64_t>(lps.value()); }
  std::unique_ptr<orrery::LogicalProcessBase> create(LpId) const override;
  std::string name_of(LpId id) const override {
    if (names.value() == "none") return "";
    if (names.value() == "control") return "\x1b[2Jwalker";
    if (names.value() == "crash") std::raise(SIGSEGV);
    if (names.value() == "throw") throw std::out_of_range("no such walker");
    return (names.value() == "markup" ? "<b>\"walker\" & ," : "walker") + std::to_string(id);
  }
  Duration lookahead() const override {
    return Duration::milliseconds(does.value() == "clock" ? 0 : 400);
  }
  void communication(orrery::CommunicationGraph& graph) const override {
    if (lps > 1) graph.connect(1, 0, Duration::milliseconds(500));
    if (does.value() == "misdirect") graph.connect(0, static_cast<LpId>(lps.value()));
  }
  void report(orrery::Report& report, orrery::Time) const override {
    if (does.value() == "report") throw std::domain_error("nothing to divide by");
    report.value("all_steps", report.total(steps).sum, "1", "steps of all LPs");
  }
};

class Walker final : public orrery::LogicalProcess<Walker, Step> {
 public:
  explicit Walker(const Misfit& model) : model_(model) {}
  void start(Context& context) override {
    context.schedule(context.self(), Duration::seconds(1), Step{});
  }
  void handle(Context& context, const Step&) {
    ++step_;
    if (model_.does.value() == "static") latest_step = step_;
    context.record(model_.steps, 1.0);
    for (std::int64_t i = 0; i < model_.rows; ++i)
      context.emit(model_.track, step_, context.random().uniform());
    if (step_ == model_.at && context.self() == context.lp_count() - 1) misbehave(context);
    const LpId next = static_cast<LpId>(context.random().below(context.lp_count()));
    if (next != context.self())
      context.schedule(next, Duration::milliseconds(500), Step{});
    else
      context.schedule(next, Duration::seconds(1), Step{});
  }

 private:
  void misbehave(Context& context) {
    const std::string& does = model_.does;
    if (does == "throw") throw std::runtime_error("the wheel came off");
    if (does == "negative") context.schedule(0, Duration::seconds(-1), Step{});
    if (does == "nowhere") context.schedule(context.lp_count(), Duration::seconds(1), Step{});
    if (does == "livelock") {
      --step_;
      context.schedule(context.self(), Duration::zero(), Step{});
    }
    if (does == "clock") context.schedule(0, Duration::from_ticks(wall_clock() % 1000), Step{});
    if (does == "haste") context.schedule(1, Duration::milliseconds(399), Step{});
    if (does == "hoard") hoard_.resize(std::size_t{1} << 45);
    if (does == "large") hoard_.resize(100'000);
    if (does == "starve") starve();
    while (does == "hang") std::this_thread::yield();
  }

  /// Takes all memory that the process may have, for longer than progress waits.
  static void starve() {
    struct Block {
      Block* next;
    };
    Block* taken = nullptr;
    for (std::size_t size = std::size_t{1} << 24; size >= sizeof(Block); size /= 2)
      while (void* const memory = std::malloc(size)) taken = new (memory) Block{taken};
    std::this_thread::sleep_for(std::chrono::milliseconds(700));
    while (taken) std::free(std::exchange(taken, taken->next));
  }

  const Misfit& model_;
  std::int64_t step_ = 0;
  std::vector<char> hoard_;
};

std::unique_ptr<orrery::LogicalProcessBase> Misfit::create(LpId) const {
  return std::make_unique<Walker>(*this);
}

ORRERY_MODEL(Misfit, "misfit", "does one wrong thing");

}  // namespace
