// SPDX-License-Identifier: Apache-2.0
//
// Customers of several classes whose work interrupts each other, servers that break down and follow
// shifts: every engine commits the same, and stays are as long as theory says. Each LP is a station by
// itself, so the mean over LPs has Student's interval. Seeds are fixed.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "equality/run_model.h"
#include "orrery/orrery.h"
#include "orrery/process.h"
#include "run/engine_cases.h"
#include "sanitizers.h"

namespace orrery::testing {
namespace {

struct CustomerClass {
  double mean_between;       ///< seconds; exponential
  double mean_work;          ///< seconds
  bool is_exponential;       ///< else constant
  WorkOptions options = {};  ///< of its work
};

struct StationOptions {
  std::uint64_t stations = 100;
  std::uint64_t servers = 1;
  std::vector<CustomerClass> classes;
  double mean_up = 0, mean_down = 0;  ///< seconds, of each server; 0: no breakdowns
  std::optional<Shifts> shifts = {};
  std::uint64_t queue_limit = PreemptiveServers::kUnlimited;
  Duration warm_up = Duration::seconds(500);
};

class WorkModel final : public Model {
 public:
  explicit WorkModel(StationOptions chosen) : options(std::move(chosen)) {
    for (std::size_t i = 0; i < options.classes.size(); ++i)
      stay.push_back(
          std::make_unique<Metric>(*this, "stay" + std::to_string(i), "s", "of a class"));
  }
  std::uint64_t lp_count() const override { return options.stations; }
  std::unique_ptr<LogicalProcessBase> create(LpId) const override;

  const StationOptions options;
  std::vector<std::unique_ptr<Metric>> stay;  // means of stations
  const Metric present{*this, "present", "", "customers in a station"};
  const Metric preemptions{*this, "preemptions", "", "of a customer"};
  const Metric lost{*this, "lost", "s", "work of a customer that was lost"};
  const ResourceMetrics desk{*this, "desk"};
};

class Workplace final : public ProcessLp<Workplace> {
 public:
  explicit Workplace(const WorkModel& model)
      : model_(model), servers_(*this, model.options.servers, model.options.queue_limit) {}

  void begin() override {
    observe(servers_, model_.desk);
    const StationOptions& options = model_.options;
    stays_.resize(options.classes.size());
    for (std::size_t i = 0; i < options.classes.size(); ++i) spawn(arrivals(i));
    if (options.mean_up > 0)
      for (std::uint64_t i = 0; i < options.servers; ++i) spawn(breakdowns());
    if (options.shifts) spawn(servers_.follow(*options.shifts, Removal::preempts));
    spawn(warm_up());
  }
  void finish(FinalContext& context) override {
    const ResourceStatistics seen = servers_.statistics(context.now());
    context.record(model_.present, seen.mean_busy() + seen.mean_queue());
    for (std::size_t i = 0; i < stays_.size(); ++i)
      context.record(*model_.stay[i], stays_[i].sum / stays_[i].count);
    context.state(seen.preempted);
    context.state(static_cast<std::uint64_t>(seen.lost));
  }

 private:
  struct Stays {
    double sum = 0, count = 0;
  };
  Duration exponential(double mean) { return Duration::from_seconds(random().exponential(mean)); }
  Process arrivals(std::size_t i) {
    for (;;) {
      co_await delay(exponential(model_.options.classes[i].mean_between));
      spawn(customer(i));
    }
  }
  Process customer(std::size_t i) {
    const CustomerClass& own = model_.options.classes[i];
    const Time came = now();
    const Duration duration =
        own.is_exponential ? exponential(own.mean_work) : Duration::from_seconds(own.mean_work);
    const Work work = co_await servers_.work(duration, own.options);
    record(model_.preemptions, work.preemptions);
    record(model_.lost, work.lost.to_seconds());
    if (!work || came < Time::zero() + model_.options.warm_up) co_return;
    stays_[i].sum += (now() - came).to_seconds();
    stays_[i].count += 1;
  }
  Process breakdowns() {
    for (;;) {
      co_await delay(exponential(model_.options.mean_up));
      servers_.take_out(1, Removal::preempts);
      co_await delay(exponential(model_.options.mean_down));
      servers_.put_back(1);
    }
  }
  Process warm_up() {
    co_await delay(model_.options.warm_up);
    servers_.restart_statistics(now());
  }

  const WorkModel& model_;
  PreemptiveServers servers_;
  std::vector<Stays> stays_;
};

std::unique_ptr<LogicalProcessBase> WorkModel::create(LpId) const {
  return std::make_unique<Workplace>(*this);
}

// ---- Equality ----------------------------------------------------------------------------------

TEST(Work, CommitsTheSameOnEveryEngine) {
  const WorkModel model(
      {.stations = 12,
       .servers = 3,
       .classes = {{4, 1.5, true, {.priority = 0}},
                   {3, 2, false, {.priority = 1, .preempted = Preempted::restarts}},
                   {3, 2, true, {.priority = 2, .preempted = Preempted::leaves}},
                   {5, 1, true, {.priority = 1, .preempts = false}}},
       .mean_up = 9,
       .mean_down = 3,
       .shifts =
           Shifts(Duration::seconds(20), {{Duration::seconds(5), 4}, {Duration::seconds(14), 2}}),
       .queue_limit = 6,
       .warm_up = Duration::seconds(10)});
  RunOptions options;
  options.until = Time::zero() + Duration::seconds(kSanitizers ? 60 : 300);
  options.workers = 2;
  const Outcome expected = run_model(model, "sequential", options);
  ASSERT_EQ(expected.result.end, RunEnd::completed) << expected.result.fault;
  for (const Metric* metric : {&model.preemptions, &model.lost})
    EXPECT_GT(expected.result.metrics.at(metric->index()).sum, 100) << metric->name();
  for (const char* engine : {"timewarp", "expanded", "auto"})
    expect_same(expected, run_model(model, engine, options), engine);
  options.until = Time::zero() + Duration::seconds(25);
  expect_same(run_model(model, "sequential", options), run_model(model, "checker", options),
              "checker");
}

// ---- Theory ------------------------------------------------------------------------------------

class WorkInTheory : public ::testing::Test {
 protected:
  void run(const StationOptions& chosen, Duration until) {
    model_ = std::make_unique<WorkModel>(chosen);
    RunOptions options;
    options.until = Time::zero() + until;
    result_ = run_model(*model_, "sequential", options).result;
    ASSERT_EQ(result_.end, RunEnd::completed) << result_.fault;
  }
  void expect(const Metric& metric, double exact) const {
    const Summary& seen = result_.metrics.at(metric.index());
    const double error = seen.deviation() / std::sqrt(static_cast<double>(seen.count));
    EXPECT_NEAR(seen.mean(), exact, 4 * error) << metric.name();
    EXPECT_LT(error, 0.03 * exact) << metric.name() << ": the interval says nothing";
  }
  void expect_stay(std::size_t of, double exact) const { expect(*model_->stay.at(of), exact); }

  std::unique_ptr<WorkModel> model_;
  RunResult result_;
};

/// Two classes: arrivals a second, first and second moment of the work.
struct Load {
  double rate, mean, square;
  double busy() const { return rate * mean; }
  double residual() const { return rate * square / 2; }
};

const CustomerClass kUrgent{4, 1, true, {.priority = 0}};    // exponential
const CustomerClass kPlain{2.5, 1, false, {.priority = 1}};  // constant
constexpr Load kUrgentLoad{0.25, 1, 2}, kPlainLoad{0.4, 1, 1};

/// M/G/1 with preemptive resume (Conway, Maxwell and Miller, "Theory of Scheduling", 1967, section
/// 8-7).
TEST_F(WorkInTheory, PreemptedWorkThatResumes) {
  run({.classes = {kUrgent, kPlain}}, Duration::seconds(12'000));
  const double first = 1 - kUrgentLoad.busy(), both = first - kPlainLoad.busy();
  expect_stay(0, kUrgentLoad.mean + kUrgentLoad.residual() / first);
  expect_stay(1, kPlainLoad.mean / first +
                     (kUrgentLoad.residual() + kPlainLoad.residual()) / (first * both));
}

/// Preemptive repeat of the same work (Gaver, "A waiting line with interrupted service, including
/// priorities", J. Royal Statistical Society B 24, 1962): work of `s` needs tries until no urgent
/// customer comes for so long; each that fails takes an exponential time below `s` and a busy period
/// of urgent customers. With that as service, plain customers are an M/G/1 whose idle server may be
/// in such a busy period.
TEST_F(WorkInTheory, PreemptedWorkThatRestarts) {
  CustomerClass repeats = kPlain;
  repeats.options.preempted = Preempted::restarts;
  run({.classes = {kUrgent, repeats}}, Duration::seconds(25'000));
  const double s = kPlainLoad.mean, rate = kUrgentLoad.rate, p = std::exp(-rate * s);
  const double first = 1 - kUrgentLoad.busy();
  const double busy = kUrgentLoad.mean / first,
               busy_square = kUrgentLoad.square / std::pow(first, 3);
  const double tried = 1 / rate - s * p / (1 - p);
  const double tried_square =
      (2 / (rate * rate) - p * (s * s + 2 * s / rate + 2 / (rate * rate))) / (1 - p);
  const double tries = (1 - p) / p, tries_variance = (1 - p) / (p * p);
  const double each = tried + busy;
  const double each_variance = tried_square - tried * tried + busy_square - busy * busy;
  const double service = s + tries * each;
  const double service_square =
      tries * each_variance + tries_variance * each * each + service * service;
  const double wait = kPlainLoad.rate * service_square / (2 * (1 - kPlainLoad.rate * service)) +
                      rate * busy_square / (2 * (1 + rate * busy));
  expect_stay(0, kUrgentLoad.mean + kUrgentLoad.residual() / first);
  expect_stay(1, wait + service);
  // Each failed try of plain customers, and nothing else, loses work.
  const Summary& lost = result_.metrics.at(model_->lost.index());
  const double plain = kPlainLoad.rate / (kPlainLoad.rate + kUrgentLoad.rate);
  EXPECT_NEAR(lost.mean(), plain * tries * tried, 0.02 * plain * tries * tried);
  const Summary& preemptions = result_.metrics.at(model_->preemptions.index());
  EXPECT_NEAR(preemptions.mean(), plain * tries, 0.02 * plain * tries);
}

/// Priorities without preemption (Cobham, "Priority assignment in waiting line problems", Operations
/// Research 2, 1954).
TEST_F(WorkInTheory, PrioritiesWithoutPreemption) {
  CustomerClass polite = kUrgent;
  polite.options.preempts = false;
  run({.classes = {polite, kPlain}}, Duration::seconds(30'000));
  const double first = 1 - kUrgentLoad.busy(), both = first - kPlainLoad.busy();
  const double residual = kUrgentLoad.residual() + kPlainLoad.residual();
  expect_stay(0, kUrgentLoad.mean + residual / first);
  expect_stay(1, kPlainLoad.mean + residual / (first * both));
}

/// Distributions of the number of customers, up to kMost, for each state of the servers.
constexpr int kMost = 120;
using Numbers = std::vector<double>;

double mean_number(const Numbers& p) {
  double mean = 0;
  for (std::size_t n = 0; n < p.size(); ++n) mean += static_cast<double>(n % (kMost + 1)) * p[n];
  return mean;
}

/// M/M/2 whose servers break down and are repaired, each by itself, as a Markov chain of customers
/// and servers that are up, solved by iteration.
TEST_F(WorkInTheory, Breakdowns) {
  constexpr double kArrival = 0.9, kService = 1, kFailure = 1 / 20., kRepair = 1 / 5.;
  run({.servers = 2,
       .classes = {{1 / kArrival, 1 / kService, true}},
       .mean_up = 20,
       .mean_down = 5},
      Duration::seconds(20'000));
  constexpr int kRow = kMost + 1;
  Numbers p(3 * kRow, 1. / (3 * kRow));  // by servers up, then customers
  constexpr double kStep = 1 / (kArrival + 2 * kService + 2 * kFailure + 2 * kRepair);
  for (int round = 0; round < 30'000; ++round) {
    Numbers next = p;
    const auto flow = [&](int from, int to, double rate) {
      const double amount = rate * kStep * p[static_cast<std::size_t>(from)];
      next[static_cast<std::size_t>(from)] -= amount;
      next[static_cast<std::size_t>(to)] += amount;
    };
    for (int up = 0; up <= 2; ++up)
      for (int n = 0; n <= kMost; ++n) {
        const int here = up * kRow + n;
        if (n < kMost) flow(here, here + 1, kArrival);
        if (n > 0) flow(here, here - 1, kService * std::min(n, up));
        if (up > 0) flow(here, here - kRow, kFailure * up);
        if (up < 2) flow(here, here + kRow, kRepair * (2 - up));
      }
    p = next;
  }
  expect(model_->present, mean_number(p));
}

/// M/M/c with two shifts of a day, by uniformisation (Grassmann, "Transient solutions in Markovian
/// queueing systems", Computers and Operations Research 4, 1977): the mean over a day, once days no
/// longer differ. 12 s of 4 servers, 12 s of 1.
TEST_F(WorkInTheory, TwoShifts) {
  constexpr double kArrival = 1.5, kService = 1, kShift = 12;
  run({.classes = {{1 / kArrival, 1 / kService, true}},
       .shifts = Shifts(Duration::seconds(24), {{Duration::zero(), 4}, {Duration::seconds(12), 1}}),
       .warm_up = Duration::seconds(480)},
      Duration::seconds(9'600 + 480));
  Numbers p(kMost + 1, 0);
  p[0] = 1;
  double area = 0;  // of the last day
  constexpr double kRate = kArrival + 4 * kService;
  for (int shift = 0; shift < 60; ++shift) {
    if (shift % 2 == 0) area = 0;
    const double servers = shift % 2 == 0 ? 4 : 1;
    Numbers after(p.size(), 0);
    // The number of steps in the shift is Poisson; a state after k steps lasts as long as there are
    // exactly k: the probability of more than k steps, over the rate.
    double weight = std::exp(-kRate * kShift), beyond = 1 - weight;
    for (int k = 0; k < 200; ++k) {
      for (std::size_t n = 0; n < p.size(); ++n) after[n] += weight * p[n];
      area += mean_number(p) * beyond / kRate;
      Numbers next(p.size(), 0);
      for (int n = 0; n <= kMost; ++n) {
        const double up = n < kMost ? kArrival / kRate : 0;
        const double down = kService * std::min<double>(n, servers) / kRate;
        const double here = p[static_cast<std::size_t>(n)];
        if (n < kMost) next[static_cast<std::size_t>(n + 1)] += up * here;
        if (n > 0) next[static_cast<std::size_t>(n - 1)] += down * here;
        next[static_cast<std::size_t>(n)] += (1 - up - down) * here;
      }
      p = next;
      weight *= kRate * kShift / (k + 1);
      beyond -= weight;
    }
    p = after;
  }
  expect(model_->present, area / (2 * kShift));
  const LevelSummary& used = result_.levels.at(model_->desk.busy.index());
  EXPECT_NEAR(used.mean(), kArrival / kService, 0.02);
}

}  // namespace
}  // namespace orrery::testing
