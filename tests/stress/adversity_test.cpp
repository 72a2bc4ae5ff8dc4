// SPDX-License-Identifier: Apache-2.0
//
// The random model under settings that nobody would choose: far more workers than cores, windows of
// one tick, hardly a checkpoint or nothing but checkpoints, memory that does not suffice; and many
// runs in one process. ORRERY_TEST_SEEDS and ORRERY_TEST_FIRST_SEED choose other seeds.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <random>

#include "checkpoint/options.h"
#include "engine/timewarp/settings.h"
#include "equality/random_model.h"
#include "equality/run_model.h"
#include "sanitizers.h"

namespace orrery::testing {
namespace {

std::uint64_t number_from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

RunOptions adversarial_options(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto one_of = [&random](const auto& values) { return values[random() % values.size()]; };
  using Numbers = std::vector<std::uint64_t>;
  RunOptions options;
  options.seed = seed;
  options.workers = one_of(std::vector<unsigned>{2, 3, 7, 16, 33});
  options.set(threads_option(), one_of(Numbers{0, 1, 3, std::min(options.workers, 8u)}));
  options.bind = one_of(Numbers{0, 1}) == 1;
  options.set(checkpoint::kCheckpoint,
              one_of(std::vector<std::string>{"auto", "copy", "periodic:2", "periodic:333"}));
  options.set(timewarp::kWindow, one_of(std::vector<std::int64_t>{0, 0, 1, 25, 600}));
  options.memory_bytes = one_of(Numbers{0, 1 << 20, 200'000, 3'000'000});
  options.set(timewarp::kGvtPeriod, one_of(Numbers{0, 1, 100, 4000}));
  return options;
}

std::string text(const RunOptions& o) {
  return "seed " + std::to_string(o.seed) + ", workers " + std::to_string(o.workers) +
         ", threads " + std::to_string(o.get(threads_option())) + ", checkpoint " +
         o.get(checkpoint::kCheckpoint) + ", window " + std::to_string(o.get(timewarp::kWindow)) +
         ", memory " + std::to_string(o.memory_bytes) + ", gvt " +
         std::to_string(o.get(timewarp::kGvtPeriod)) + " us";
}

TEST(Adversity, RandomModelAndRandomOptions) {
  const std::uint64_t first = number_from_environment("ORRERY_TEST_FIRST_SEED", 100);
  const std::uint64_t count = number_from_environment("ORRERY_TEST_SEEDS", kSanitizers ? 12 : 24);
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    RandomModel model({.shape = seed,
                       .lps = static_cast<LpId>(5 + seed * 31 % 90),
                       .grain_ticks = seed % 3 == 0 ? 1 : 10,
                       .horizon = Duration::from_ticks(2'000)});
    const RunOptions options = adversarial_options(seed);
    RunOptions plain;
    plain.seed = seed;
    const Outcome expected = run_model(model, "sequential", plain);
    ASSERT_EQ(expected.result.end, RunEnd::completed) << expected.result.fault;
    const Outcome actual = run_model(model, "timewarp", options);
    ASSERT_EQ(actual.result.end, RunEnd::completed) << text(options) << ": " << actual.result.fault;
    ASSERT_EQ(actual.result.fingerprint, expected.result.fingerprint) << text(options);
    ASSERT_EQ(actual.result.committed, expected.result.committed) << text(options);
    ASSERT_TRUE(actual.rows == expected.rows) << text(options);
    ASSERT_FALSE(actual.late_rows) << text(options);
  }
}

/// Faults under the same settings: found at the same event, told in the same words.
TEST(Adversity, FaultsUnderRandomOptions) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    RandomModel model({.shape = seed,
                       .lps = 48,
                       .horizon = Duration::from_ticks(20'000),
                       .fault_at_event = static_cast<std::int64_t>(10 + seed * 3)});
    const RunOptions options = adversarial_options(seed);
    RunOptions plain;
    plain.seed = seed;
    const Outcome expected = run_model(model, "sequential", plain);
    ASSERT_EQ(expected.result.end, RunEnd::fault);
    const Outcome actual = run_model(model, "timewarp", options);
    ASSERT_EQ(actual.result.end, RunEnd::fault) << text(options);
    EXPECT_EQ(actual.result.fault, expected.result.fault) << text(options);
    EXPECT_EQ(actual.result.fingerprint, expected.result.fingerprint) << text(options);
    EXPECT_TRUE(actual.rows == expected.rows) << text(options);
  }
}

std::uint64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t size = 0, resident = 0;
  file >> size >> resident;
  return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

/// Twenty runs of all kinds in one process give what one gives, and keep no memory.
TEST(Repetition, RunsInOneProcessLeakNothing) {
  RandomModel model({.shape = 4, .lps = 400, .horizon = Duration::from_ticks(600)});
  RandomModel failing(
      {.shape = 4, .lps = 400, .horizon = Duration::from_ticks(2'000), .fault_at_event = 5});
  const std::uint64_t fingerprint = run_model(model, "sequential", {}).result.fingerprint;
  const std::string fault = run_model(failing, "sequential", {}).result.fault;
  std::uint64_t after_warming = 0;
  constexpr int kWarm = 6, kRuns = 20;
  for (int i = 0; i < kRuns; ++i) {
    if (i == kWarm) after_warming = resident_bytes();
    RunOptions options;
    options.workers = static_cast<unsigned>(1 + i % 3);
    const Outcome actual = run_model(model, "timewarp", options);
    ASSERT_EQ(actual.result.fingerprint, fingerprint) << "run " << i;
    ASSERT_EQ(run_model(failing, "timewarp", options).result.fault, fault) << "run " << i;
  }
  // An LP of this model holds kilobytes: losing one run's LPs and events once would show.
  const std::uint64_t growth = resident_bytes() - std::min(after_warming, resident_bytes());
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they keep freed memory
  EXPECT_LT(growth, 8u << 20) << "bytes gained in " << kRuns - kWarm << " runs";
#else
  static_cast<void>(growth);
#endif
}

/// Big states, so that checkpoints dwarf the budget.
TEST(Memory, BudgetBelowNeedOnPhold) {
  auto model = make_model("phold");
  for (const auto& [name, value] :
       std::vector<std::pair<std::string, std::string>>{{"lps", "48"},
                                                        {"population", "2"},
                                                        {"state", "100000"},
                                                        {"touched", "256"},
                                                        {"remote", "0.8"}})
    set_parameter(*model, name, value);
  model->prepare();
  RunOptions options;
  options.until = Time::zero() + Duration::seconds(60);
  const Outcome expected = run_model(*model, "sequential", options);
  ASSERT_EQ(expected.result.end, RunEnd::completed) << expected.result.fault;
  for (const std::uint64_t bytes : {6'000'000u, 20'000'000u}) {
    for (const unsigned workers : {2u, 4u}) {
      options.workers = workers;
      options.memory_bytes = bytes;
      const Outcome actual = run_model(*model, "timewarp", options);
      const std::string what =
          "budget " + std::to_string(bytes) + " bytes, workers " + std::to_string(workers);
      ASSERT_EQ(actual.result.end, RunEnd::completed) << what << ": " << actual.result.fault;
      EXPECT_EQ(actual.result.fingerprint, expected.result.fingerprint) << what;
      EXPECT_EQ(actual.result.committed, expected.result.committed) << what;
    }
  }
}

}  // namespace
}  // namespace orrery::testing
