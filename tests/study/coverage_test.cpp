// SPDX-License-Identifier: Apache-2.0
//
// Whether intervals cover what they say: thousands of studies each of a mean that is known, with
// fixed seeds. The stay of a customer in a stationary M/M/1 queue is exponentially distributed, its
// mean 1 / (service rate - arrival rate) (D. Gross, J. Shortle, J. Thompson, C. Harris,
// "Fundamentals of Queueing Theory", 4th ed., 2008, 2.2.4). A replication is the mean stay of so
// many customers who are too far apart to know of each other.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "core/series.h"
#include "output/batch_means.h"
#include "study/estimate.h"
#include "study/precision.h"

namespace orrery::study {
namespace {

constexpr int kStudies = 4000;  // a share of 94 % has a standard error of 0.4 %
constexpr double kLeast = 0.93, kMost = 0.97;
constexpr double kMean = 2;  ///< stay

/// Each the mean of so many stays.
class Replications {
 public:
  Replications(std::uint64_t seed, int customers) : generator_(seed), customers_(customers) {}

  double next() {
    double sum = 0;
    for (int i = 0; i < customers_; ++i) sum += -kMean * std::log1p(-uniform());
    return sum / customers_;
  }

 private:
  double uniform() { return static_cast<double>(generator_() >> 11) * 0x1p-53; }

  std::mt19937_64 generator_;
  int customers_;
};

bool covers(const Estimate& estimate) {
  return std::fabs(estimate.mean - kMean) <= *estimate.half_width;
}

double share_of(int covered) {
  return static_cast<double>(covered) / kStudies;
}

double covered_with(int replications, int customers) {
  int covered = 0;
  for (int study = 0; study < kStudies; ++study) {
    Replications source(static_cast<std::uint64_t>(study) + 1, customers);
    std::vector<double> values;
    for (int i = 0; i < replications; ++i) values.push_back(source.next());
    covered += covers(estimate(values, 0.95));
  }
  return share_of(covered);
}

struct Sequential {
  double covered = 0, replications = 0;
};

/// As a campaign goes on with one point.
Sequential covered_until(const char* text, int customers) {
  const PrecisionRule rule = PrecisionRule::parse(text, 0.95);
  Sequential result;
  int covered = 0;
  std::uint64_t replications = 0;
  for (int study = 0; study < kStudies; ++study) {
    Replications source(static_cast<std::uint64_t>(study) + 1, customers);
    std::vector<double> values;
    Estimate now;
    for (std::uint64_t wanted = kLeastReplications; wanted > values.size();
         wanted = rule.is_met_by(now) ? wanted : rule.next_count(now)) {
      while (values.size() < wanted) values.push_back(source.next());
      now = estimate(values, rule.confidence);
    }
    EXPECT_LE(now.relative_half_width(), rule.share);
    covered += covers(now);
    replications += now.count;
  }
  return {share_of(covered), static_cast<double>(replications) / kStudies};
}

TEST(Coverage, OfReplications) {
  for (const int replications : {5, 10, 20, 50}) {
    const double covered = covered_with(replications, 100);
    RecordProperty(std::to_string(replications), std::to_string(covered));
    EXPECT_GE(covered, kLeast) << replications;
    EXPECT_LE(covered, kMost) << replications;
  }
}

TEST(Coverage, UntilPrecisionFromTenReplicationsOn) {
  const struct {
    const char* rule;
    int customers;
    double least, most;  // replications
  } cases[] = {{"a=0.1", 16, 28, 38},
               {"a=0.05", 16, 95, 115},
               {"a=0.05", 100, 20, 27},
               {"a=0.02", 100, 95, 115},
               {"a=0.2", 16, 10, 16}};
  for (const auto& one : cases) {
    const Sequential result = covered_until(one.rule, one.customers);
    RecordProperty(one.rule, std::to_string(result.covered));
    EXPECT_GE(result.covered, kLeast) << one.rule << " of " << one.customers;
    EXPECT_LE(result.covered, kMost) << one.rule << " of " << one.customers;
    EXPECT_GE(result.replications, one.least) << one.rule << " of " << one.customers;
    EXPECT_LE(result.replications, one.most) << one.rule << " of " << one.customers;
  }
}

/// One run of an M/M/1 queue that begins empty, by the recursion of D. V. Lindley ("The theory of
/// queues with a single server", 1952): the stays of its customers and how many are there.
class Queue {
 public:
  static constexpr double kArrivals = 0.5, kServices = 1;  ///< each second: the mean stay is 2 s

  Queue(std::uint64_t seed, double seconds, double batches)
      : generator_(seed),
        stays_(interval(seconds, batches), false),
        present_(interval(seconds, batches), true) {
    for (double arrival = step(kArrivals), departure = 0; arrival < seconds;
         arrival += step(kArrivals)) {
      departure = std::max(arrival, departure) + step(kServices);
      change(arrival, departure);
      if (departure < seconds) stays_.add(time(departure), departure - arrival);
    }
    count(seconds);
  }

  const Series& stays() const { return stays_; }
  const Series& present() const { return present_; }
  static Time time(double seconds) {
    return Time::from_ticks(static_cast<std::int64_t>(seconds * 1e6));
  }

 private:
  static Duration interval(double seconds, double batches) {
    return time(seconds / batches) - Time::zero();
  }
  double step(double rate) {
    return -std::log1p(-static_cast<double>(generator_() >> 11) * 0x1p-53) / rate;
  }
  void change(double arrival, double departure) {
    changes_.emplace_back(arrival, 1);
    changes_.emplace_back(departure, -1);
  }
  void count(double seconds) {
    std::sort(changes_.begin(), changes_.end());
    double level = 0;
    for (const auto& [when, by] : changes_) {
      if (when >= seconds) break;
      present_.change(time(when), level + by, level);
      level += by;
    }
  }

  std::mt19937_64 generator_;
  Series stays_, present_;
  std::vector<std::pair<double, int>> changes_;
};

TEST(Coverage, OfBatchMeans) {
  constexpr int kRuns = 1000;  // a share of 95 % has a standard error of 0.7 %
  constexpr double kSeconds = 30'000, kWarmUp = 100, kIntervals = 1200;
  const Time begin = Queue::time(kWarmUp), end = Queue::time(kSeconds);
  int stays = 0, present = 0, dependent = 0;
  for (int run = 0; run < kRuns; ++run) {
    const Queue queue(static_cast<std::uint64_t>(run) + 1, kSeconds, kIntervals);
    const auto stay = batch_means(queue.stays().intervals(begin, end), false);
    const auto level = batch_means(queue.present().intervals(begin, end), true);
    stays += std::fabs(stay->mean - 2) <= stay->half_width;
    present += std::fabs(level->mean - 1) <= level->half_width;
    dependent += !stay->are_independent();
  }
  RecordProperty("stays", stays);
  RecordProperty("present", present);
  EXPECT_GE(stays, kLeast * kRuns);
  EXPECT_LE(stays, kMost * kRuns);
  EXPECT_GE(present, kLeast * kRuns);
  EXPECT_LE(present, kMost * kRuns);
  EXPECT_LE(dependent, 0.08 * kRuns);  // once in twenty by chance
}

/// The fewest values that have an interval, at times of their own: a rare kind of customer.
TEST(Coverage, OfBatchMeansOfFewValues) {
  constexpr int kRuns = 1000;
  constexpr Duration kSecond = Duration::seconds(1);
  int intervals = 0, covered = 0;
  for (int run = 0; run < kRuns; ++run) {
    std::mt19937_64 generator(static_cast<std::uint64_t>(run) + 1);
    Series series(kSecond, false);
    for (std::uint64_t i = 0; i < kLeastValues; ++i) {
      const auto second = static_cast<std::int64_t>(generator() % (10 * kBatches));
      const double share = static_cast<double>(generator() >> 11) * 0x1p-53;
      series.add(Time::zero() + second * kSecond, -std::log1p(-share));
    }
    const Time end = Time::zero() + std::int64_t{10 * kBatches} * kSecond;
    const auto means = batch_means(series.intervals(Time::zero(), end), false);
    intervals += means.has_value();
    covered += means && std::fabs(means->mean - 1) <= means->half_width;
  }
  EXPECT_EQ(intervals, kRuns);
  EXPECT_GE(covered, 0.92 * kRuns);  // 93.7 % in the long run
  EXPECT_LE(covered, 0.96 * kRuns);
}

/// All of three differences at once.
TEST(Coverage, OfSimultaneousIntervals) {
  int covered = 0;
  for (int study = 0; study < kStudies; ++study) {
    Replications first(static_cast<std::uint64_t>(study) + 1, 50);
    Replications second(static_cast<std::uint64_t>(study) + 100'001, 50);
    Replications third(static_cast<std::uint64_t>(study) + 200'001, 50);
    std::vector<double> differences[3];
    for (int i = 0; i < 20; ++i) {
      const double a = first.next(), b = second.next(), c = third.next();
      differences[0].push_back(b - a);
      differences[1].push_back(c - a);
      differences[2].push_back(c - b);
    }
    bool all = true;
    for (const auto& values : differences) {
      const Estimate one = estimate(values, simultaneous_confidence(0.95, 3));
      all = all && std::fabs(one.mean) <= *one.half_width;
    }
    covered += all;
  }
  EXPECT_GE(share_of(covered), 0.94);  // at least what is promised, up to chance
}

}  // namespace
}  // namespace orrery::study
