// SPDX-License-Identifier: Apache-2.0
//
// The oracle: every engine, worker count and checkpoint strategy commits the same. A
// failure names the seed and the options that reproduce it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <ostream>
#include <vector>

#include "checkpoint/options.h"
#include "disturb.h"
#include "engine/expanded/settings.h"
#include "engine/sequential/settings.h"
#include "engine/timewarp/settings.h"
#include "equality/random_model.h"
#include "equality/run_model.h"
#include "sanitizers.h"

namespace orrery::testing {
namespace {

struct Variant {
  unsigned workers;
  std::string checkpoint = "auto";
  std::int64_t window_ticks = 0;
  std::uint64_t memory_bytes = 0;
  std::uint64_t gvt_period_us = 0;
  std::uint32_t channel_messages = 4096;
  std::string offload = "none";
  double abort_threshold = -1;
  std::uint32_t max_checkpoint_distance = 40;
  bool cache_aware = false;
  double cache_share = -1;
};

/// More threads than cores interleave in ways that fewer do not.
std::uint64_t threads_of(const Variant& v, std::uint64_t seed) {
  return seed % 2 == 0 ? v.workers : 0;
}

std::string describe(const Variant& v, std::uint64_t seed) {
  return "seed " + std::to_string(seed) + ", timewarp, workers " + std::to_string(v.workers) +
         ", threads " + std::to_string(threads_of(v, seed)) + ", checkpoint " + v.checkpoint +
         ", window " + std::to_string(v.window_ticks) + ", memory " +
         std::to_string(v.memory_bytes) + ", gvt " + std::to_string(v.gvt_period_us) +
         " us, channels of " + std::to_string(v.channel_messages) + ", offload " + v.offload +
         ", threshold " + std::to_string(v.abort_threshold) +
         (v.cache_aware || v.cache_share >= 0 ? ", cache share " + std::to_string(v.cache_share)
                                              : ", no cache share");
}

RunOptions options_of(const Variant& v, std::uint64_t seed) {
  RunOptions options;
  options.seed = seed;
  options.workers = v.workers;
  options.set(checkpoint::kCheckpoint, v.checkpoint);
  options.set(threads_option(), threads_of(v, seed));
  options.set(timewarp::kWindow, v.window_ticks);
  options.memory_bytes = v.memory_bytes;
  options.set(timewarp::kGvtPeriod, v.gvt_period_us);
  disturb(options).messages = v.channel_messages;
  options.set(checkpoint::kOffload, v.offload);
  options.set(checkpoint::kAbortThreshold, v.abort_threshold);
  options.set(checkpoint::kMaxDistance, v.max_checkpoint_distance);
  options.set(checkpoint::kBurst, 64);
  options.set(timewarp::kCacheAware, v.cache_aware);
  options.set(timewarp::kCacheShare, v.cache_share);
  return options;
}

void expect_equal(const Outcome& expected, const Outcome& actual, const std::string& what) {
  ASSERT_EQ(actual.result.end, RunEnd::completed) << what << ": " << actual.result.fault;
  EXPECT_EQ(actual.result.fingerprint, expected.result.fingerprint) << what;
  EXPECT_EQ(actual.result.committed, expected.result.committed) << what;
  EXPECT_EQ(actual.rows, expected.rows) << what;
  EXPECT_FALSE(actual.late_rows) << what;
  ASSERT_EQ(actual.result.metrics.size(), expected.result.metrics.size());
  for (std::size_t i = 0; i < expected.result.metrics.size(); ++i) {
    EXPECT_EQ(actual.result.metrics[i].count, expected.result.metrics[i].count) << what;
    EXPECT_EQ(actual.result.metrics[i].sum, expected.result.metrics[i].sum) << what;
    EXPECT_EQ(actual.result.metrics[i].squares, expected.result.metrics[i].squares) << what;
  }
}

/// Less than the workers' first stocks of memory, more than the models' states.
constexpr std::uint64_t kTinyBudgetBytes = 1 << 20;

std::vector<Variant> variants() {
  return {{.workers = 1},
          {.workers = 2},
          {.workers = 2, .checkpoint = "copy", .cache_share = 0.5},
          {.workers = 3, .checkpoint = "periodic:7", .cache_aware = true},
          {.workers = 4, .checkpoint = "periodic:1000", .gvt_period_us = 200},
          {.workers = 5, .gvt_period_us = 50},
          {.workers = 2, .window_ticks = 40, .cache_share = 0.875},
          {.workers = 6, .gvt_period_us = 20, .channel_messages = 2, .cache_share = 1},
          {.workers = 8, .memory_bytes = kTinyBudgetBytes},
          {.workers = 3, .checkpoint = "adaptive"},
          {.workers = 2, .checkpoint = "incremental"},
          {.workers = 4, .checkpoint = "incremental", .memory_bytes = kTinyBudgetBytes},
          {.workers = 2, .checkpoint = "copy", .offload = "multi"},
          {.workers = 3,
           .checkpoint = "periodic:2",
           .offload = "multi",
           .abort_threshold = 1,
           .max_checkpoint_distance = 5},
          {.workers = 4, .checkpoint = "adaptive", .offload = "mono", .abort_threshold = 0.3},
          {.workers = 1, .checkpoint = "copy", .offload = "mono"}};
}

/// Three neighbouring seeds see all variants; sanitizers take ten times as long for each.
constexpr std::uint64_t kSeeds = kSanitizers ? 3 : 6;
constexpr std::int64_t kHorizonTicks = kSanitizers ? 3'000 : 10'000;

/// ORRERY_TEST_SEEDS: how many seeds (default kSeeds), ORRERY_TEST_FIRST_SEED: the first (default
/// 1).
std::uint64_t number_from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

/// The expanded engine: every mode, with more workers than cores.
std::vector<RunOptions> expanded_variants(std::uint64_t seed) {
  struct Choice {
    unsigned workers;
    const char* mode;
  };
  std::vector<RunOptions> all;
  for (const Choice& c :
       {Choice{1, "auto"}, Choice{2, "auto"}, Choice{3, "in-place"}, Choice{2, "batched"},
        Choice{3, "batched"}, Choice{5, "batched"}, Choice{8, "batched"}}) {
    RunOptions options;
    options.seed = seed;
    options.workers = c.workers;
    options.set(expanded::kMode, c.mode);
    all.push_back(options);
  }
  return all;
}

std::string describe(const RunOptions& o) {
  return "seed " + std::to_string(o.seed) + ", expanded, workers " + std::to_string(o.workers) +
         ", mode " + o.get(expanded::kMode);
}

/// The sequential engine with its LPs where Time Warp has them.
RunOptions on_heaps(RunOptions options) {
  options.set(sequential::kOnHeaps, true);
  return options;
}

TEST(Equality, RandomModelOnEveryVariant) {
  const std::uint64_t first = number_from_environment("ORRERY_TEST_FIRST_SEED", 1);
  const std::uint64_t count = number_from_environment("ORRERY_TEST_SEEDS", kSeeds);
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    RandomModel model({.shape = seed,
                       .lps = static_cast<LpId>(8 + seed * 37 % 200),
                       .grain_ticks = seed % 3 == 0 ? 1 : 10,
                       .horizon = Duration::from_ticks(kHorizonTicks),
                       .durations = seed % 4 < 2,
                       .phases = seed % 2 == 0});
    RunOptions sequential;
    sequential.seed = seed;
    const Outcome expected = run_model(model, "sequential", sequential);
    ASSERT_EQ(expected.result.end, RunEnd::completed) << expected.result.fault;
    ASSERT_GT(expected.result.committed, 1000u);
    ASSERT_GT(expected.rows.size(), 100u);
    expect_equal(expected, run_model(model, "sequential", on_heaps(sequential)),
                 "seed " + std::to_string(seed) + ", sequential, on heaps");
    for (const Variant& variant : variants())
      expect_equal(expected, run_model(model, "timewarp", options_of(variant, seed)),
                   describe(variant, seed));
    const std::vector<RunOptions> variants_of_expanded = expanded_variants(seed);
    // Every third one, in turn: three neighbouring seeds see them all.
    for (std::size_t i = seed % 3; i < variants_of_expanded.size(); i += 3) {
      const RunOptions& options = variants_of_expanded[i];
      expect_equal(expected, run_model(model, "expanded", options), describe(options));
    }
    if (HasFailure()) return;
  }
}

TEST(Equality, RandomModelOnTheChecker) {
  const std::uint64_t first = number_from_environment("ORRERY_TEST_FIRST_SEED", 1);
  const std::uint64_t count = number_from_environment("ORRERY_TEST_SEEDS", kSeeds);
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    RandomModel model({.shape = seed,
                       .lps = static_cast<LpId>(8 + seed * 37 % 200),
                       .grain_ticks = seed % 3 == 0 ? 1 : 10,
                       .horizon = Duration::from_ticks(1'500),
                       .phases = seed % 2 == 0});
    RunOptions options;
    options.seed = seed;
    const Outcome expected = run_model(model, "sequential", options);
    expect_equal(expected, run_model(model, "checker", options),
                 "checker, seed " + std::to_string(seed));
    if (HasFailure()) return;
  }
}

TEST(Equality, SeedsAndModelsDiffer) {
  std::vector<std::uint64_t> fingerprints;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    RandomModel model({.shape = 1, .horizon = Duration::from_ticks(2'000)});
    RunOptions options;
    options.seed = seed;
    fingerprints.push_back(run_model(model, "sequential", options).result.fingerprint);
  }
  EXPECT_NE(fingerprints[0], fingerprints[1]);
  EXPECT_NE(fingerprints[1], fingerprints[2]);
}

TEST(Equality, CommittedFaultIsTheSameEverywhere) {
  for (const std::int64_t at : {20, 60}) {
    RandomModel model({.shape = 2,
                       .horizon = Duration::from_ticks(50'000),
                       .fault_at_event = at,
                       .durations = at == 60});
    const Outcome expected = run_model(model, "sequential", {});
    ASSERT_EQ(expected.result.end, RunEnd::fault);
    EXPECT_NE(expected.result.fault.find("told to fail"), std::string::npos);
    const Outcome heaps = run_model(model, "sequential", on_heaps({}));
    EXPECT_EQ(heaps.result.fault, expected.result.fault);
    EXPECT_EQ(heaps.result.fingerprint, expected.result.fingerprint);
    EXPECT_EQ(heaps.result.committed, expected.result.committed);
    EXPECT_EQ(heaps.rows, expected.rows);
    for (const Variant& variant : variants()) {
      const Outcome actual = run_model(model, "timewarp", options_of(variant, 1));
      ASSERT_EQ(actual.result.end, RunEnd::fault) << describe(variant, 1);
      EXPECT_EQ(actual.result.fault, expected.result.fault) << describe(variant, 1);
      EXPECT_EQ(actual.result.fingerprint, expected.result.fingerprint) << describe(variant, 1);
      EXPECT_EQ(actual.result.committed, expected.result.committed) << describe(variant, 1);
      EXPECT_EQ(actual.rows, expected.rows) << describe(variant, 1);
    }
    for (const RunOptions& options : expanded_variants(1)) {
      const Outcome actual = run_model(model, "expanded", options);
      ASSERT_EQ(actual.result.end, RunEnd::fault) << describe(options);
      EXPECT_EQ(actual.result.fault, expected.result.fault) << describe(options);
      EXPECT_EQ(actual.result.fingerprint, expected.result.fingerprint) << describe(options);
      EXPECT_EQ(actual.result.committed, expected.result.committed) << describe(options);
      EXPECT_EQ(actual.rows, expected.rows) << describe(options);
    }
  }
}

struct ModelCase {
  std::string name;
  std::vector<std::pair<std::string, std::string>> parameters;
  double until_seconds;
};

void PrintTo(const ModelCase& c, std::ostream* out) {
  *out << c.name;
  for (const auto& [name, value] : c.parameters) *out << ' ' << name << '=' << value;
  *out << " until " << c.until_seconds << " s";
}

class ShippedModel : public ::testing::TestWithParam<ModelCase> {};

TEST_P(ShippedModel, CommitsTheSameOnEveryVariant) {
  const ModelCase& c = GetParam();
  auto model = make_model(c.name);
  for (const auto& [name, value] : c.parameters) set_parameter(*model, name, value);
  model->prepare();
  RunOptions reference;
  // Vehicles take minutes under the thread sanitizer.
  const double share = kThreadSanitizer && c.name == "traffic" ? 0.5 : 1;
  reference.until = Time::zero() + Duration::from_seconds(share * c.until_seconds);
  const Outcome expected = run_model(*model, "sequential", reference);
  ASSERT_EQ(expected.result.end, RunEnd::completed) << expected.result.fault;
  ASSERT_GT(expected.result.committed, 500u);
  expect_equal(expected, run_model(*model, "sequential", on_heaps(reference)),
               "sequential, on heaps");
  // Where a variant takes many seconds, every third: another third for each of the models.
  constexpr std::size_t kStride = kThreadSanitizer ? 3 : 1;
  std::size_t number = c.parameters.size() + static_cast<std::size_t>(c.until_seconds);
  for (const Variant& variant : variants()) {
    if (number++ % kStride != 0) continue;
    RunOptions options = options_of(variant, 1);
    options.until = reference.until;
    if (variant.window_ticks > 0) options.set(timewarp::kWindow, reference.until.ticks() / 500);
    expect_equal(expected, run_model(*model, "timewarp", options), describe(variant, 1));
  }
  for (RunOptions options : expanded_variants(1)) {
    // The others hand over single events, which takes its time, and do nothing else.
    const bool chosen = options.get(expanded::kMode) == "auto" || options.workers > 4;
    if (options.workers == 1 || !chosen) continue;
    options.until = reference.until;
    expect_equal(expected, run_model(*model, "expanded", options), describe(options));
  }
}

TEST(Equality, ReverseHandlersOfPhold) {
  auto model = make_model("phold");
  for (const auto& [name, value] : std::vector<std::pair<std::string, std::string>>{
           {"lps", "40"}, {"state", "20000"}, {"touched", "500"}, {"remote", "0.9"}})
    set_parameter(*model, name, value);
  model->prepare();
  RunOptions reference;
  reference.until = Time::zero() + Duration::seconds(60);
  const Outcome expected = run_model(*model, "sequential", reference);
  for (const Variant& variant : {Variant{.workers = 1, .checkpoint = "reverse"},
                                 Variant{.workers = 2, .checkpoint = "reverse"},
                                 Variant{.workers = 4, .checkpoint = "reverse", .window_ticks = 1},
                                 Variant{.workers = 4, .checkpoint = "auto"}}) {
    RunOptions options = options_of(variant, 1);
    options.until = reference.until;
    if (variant.window_ticks > 0) options.set(timewarp::kWindow, reference.until.ticks() / 500);
    const Outcome actual = run_model(*model, "timewarp", options);
    expect_equal(expected, actual, describe(variant, 1));
  }
}

struct Hop {
  std::uint64_t value;
};
class TinyModel;

/// An object of less than a cache line, as Time Warp's journal wants it. Some never allocate, the
/// others begin to in the midst of the run, each at another time: they leave the journal.
class TinyLp final : public LogicalProcess<TinyLp, Hop> {
 public:
  explicit TinyLp(const TinyModel& model) : model_(model) {}
  void start(Context& context) override { hop(context, 0); }
  void handle(Context& context, const Hop& message);
  void finish(FinalContext& context) override {
    context.state(digest_);
    for (std::size_t i = 0; kept_ != nullptr && i < kept_->size(); ++i) context.state((*kept_)[i]);
  }

 private:
  void hop(Context& context, std::uint64_t value);

  const TinyModel& model_;
  std::uint64_t digest_ = 0;
  std::uint64_t handled_ = 0;
  std::unique_ptr<std::vector<std::uint64_t>> kept_;
};

class TinyModel final : public Model {
 public:
  std::uint64_t lp_count() const override { return 40; }
  std::unique_ptr<LogicalProcessBase> create(LpId) const override {
    return std::make_unique<TinyLp>(*this);
  }
  const Table hops{*this, "hops", {{"value", ColumnType::integer}}, "some events"};
};

void TinyLp::handle(Context& context, const Hop& message) {
  ++handled_;
  digest_ = (digest_ ^ message.value) * 0x9e3779b97f4a7c15;
  if (context.self() % 3 != 0 && handled_ > 10 * context.self()) {
    if (kept_ == nullptr) kept_ = std::make_unique<std::vector<std::uint64_t>>();
    if (kept_->size() > 20) kept_->clear();
    kept_->push_back(digest_);
  }
  if (digest_ >> 61 == 0) context.emit(model_.hops, digest_ >> 1);
  hop(context, digest_);
}
void TinyLp::hop(Context& context, std::uint64_t value) {
  auto& random = context.random();
  const auto to = static_cast<LpId>(random.below(context.lp_count()));
  context.schedule(to, Duration::from_ticks(static_cast<std::int64_t>(random.below(30))),
                   Hop{value});
}

TEST(Equality, TinyLpsInTheJournalAndOutOfIt) {
  const TinyModel model;
  RunOptions reference;
  reference.until = Time::from_ticks(kHorizonTicks);
  const Outcome expected = run_model(model, "sequential", reference);
  ASSERT_GT(expected.result.committed, 5'000u);
  ASSERT_GT(expected.rows.size(), 500u);
  for (const Variant& variant : variants()) {
    RunOptions options = options_of(variant, 1);
    options.until = reference.until;
    expect_equal(expected, run_model(model, "timewarp", options), describe(variant, 1));
  }
}

/// More ranges of memory than the kernel may be asked to track: what is beyond is compared.
TEST(Equality, IncrementalCheckpointsBeyondTheTrackedRanges) {
  auto model = make_model("phold");
  for (const auto& [name, value] : std::vector<std::pair<std::string, std::string>>{
           {"lps", "60"}, {"state", "70000"}, {"touched", "500"}, {"remote", "0.9"}})
    set_parameter(*model, name, value);
  model->prepare();
  RunOptions reference;
  reference.until = Time::zero() + Duration::seconds(30);
  const Outcome expected = run_model(*model, "sequential", reference);
  for (const std::int64_t ranges : {-1, 0, 1}) {
    for (const Variant& variant : {Variant{.workers = 2, .checkpoint = "incremental"},
                                   Variant{.workers = 5, .checkpoint = "incremental"},
                                   Variant{.workers = 3, .checkpoint = "auto"}}) {
      RunOptions options = options_of(variant, 1);
      options.until = reference.until;
      options.set(checkpoint::kTrackedRanges, ranges);
      const Outcome actual = run_model(*model, "timewarp", options);
      const std::string what = describe(variant, 1) + ", tracked " + std::to_string(ranges);
      expect_equal(expected, actual, what);
      const auto& notes = actual.result.notes;
      const bool noted = std::any_of(notes.begin(), notes.end(), [](const std::string& note) {
        return note.starts_with("incremental checkpoints compare ");
      });
      EXPECT_TRUE(noted || variant.checkpoint == "auto" || ranges != 0) << what;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Models, ShippedModel,
    ::testing::Values(
        ModelCase{"phold", {{"lps", "300"}}, 40},
        ModelCase{"phold",
                  {{"lps", "64"},
                   {"state", "4096"},
                   {"touched", "256"},
                   {"payload", "64"},
                   {"population", "4"},
                   {"remote", "0.9"}},
                  30},
        ModelCase{"phold", {{"lps", "100"}, {"lookahead", "100ms"}, {"hot_share", "0.5"}}, 60},
        ModelCase{"pcs", {{"cells", "49"}, {"channels", "30"}, {"inter_arrival", "3s"}}, 600},
        ModelCase{"pcs", {{"cells", "16"}, {"channels", "20"}, {"fading_period", "20s"}}, 600},
        ModelCase{"null", {{"modules", "40"}, {"events", "200"}}, 1},
        ModelCase{"null", {{"modules", "20"}, {"events", "100"}, {"duration", "0s"}}, 1},
        ModelCase{"wireless", {{"stations", "49"}}, 0.1},
        ModelCase{"wireless", {{"stations", "30"}, {"work", "3000"}, {"channel_work", "300"}}, 0.1},
        ModelCase{"epidemic",
                  {{"regions", "6"},
                   {"locations", "8"},
                   {"people", "30"},
                   {"infected", "200"},
                   {"infected_region", "all"},
                   {"beta", "3"}},
                  86400},
        ModelCase{"epidemic",
                  {{"regions", "16"},
                   {"locations", "3"},
                   {"people", "30"},
                   {"near_share", "0.5"},
                   {"schedule", "daily"},
                   {"infected", "80"},
                   {"vaccination_rate", "0.3"},
                   {"vaccinate_from", "12h"}},
                  86400},
        ModelCase{"traffic", {{"demand", "0.2"}}, 1800},
        ModelCase{"traffic", {{"network", "grid"}, {"grid", "12"}}, 1200},
        ModelCase{"traffic", {{"demand", "0.2"}, {"routes", "free-flow"}}, 1800},
        ModelCase{
            "traffic",
            {{"demand", "0.2"}, {"routes", "adaptive"}, {"profile", "peak"}, {"interval", "5min"}},
            1800},
        ModelCase{"wireless", {{"stations", "36"}, {"load", "60"}}, 0.12},
        ModelCase{"null", {{"modules", "37"}, {"events", "200"}}, 1}),
    [](const auto& test) { return test.param.name + std::to_string(test.index); });

}  // namespace
}  // namespace orrery::testing
