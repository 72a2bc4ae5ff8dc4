// SPDX-License-Identifier: Apache-2.0
//
// Streams by name: that they differ from each other and from an LP's own, that they go on, jump and
// come back as the header says, and that a fork's seed reaches them; and the golden bits.
#include "orrery/random_stream.h"

#include <gtest/gtest.h>

#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/model_access.h"
#include "core/random_statistics.h"
#include "orrery/context.h"
#include "orrery/logical_process.h"
#include "orrery/model.h"
#include "run/options/model_checks.h"

namespace orrery {
namespace {

using namespace testing;

/// A context in the open, which begins events as an engine does.
class Stage final : public Context {
 public:
  Stage(std::uint64_t seed, LpId lp) : seed_(seed) {
    self_ = lp;
    begin_event(0);
  }
  void begin_event(std::uint64_t block) { random_.begin(seed_, self_, block); }
  void set_reversing() { reversing_ = true; }
  std::vector<std::pair<const void*, std::size_t>> saved;

 private:
  void send(LpId, Duration, EventTypeId, std::uint32_t, const void*) override {}
  void append_row(std::uint32_t, std::span<const std::uint64_t>) override {}
  void save_before(const void* address, std::size_t bytes) override {
    saved.emplace_back(address, bytes);
  }
  std::uint64_t seed_;
};

static_assert(RandomName("service").hash() == RandomName(std::string_view("service")).hash());
static_assert(RandomName("service").hash() != RandomName("services").hash());
static_assert(RandomName("", 1).hash() != RandomName("", 2).hash());
static_assert(std::is_trivially_copyable_v<RandomStream>);
static_assert(!std::is_convertible_v<RandomStream*, Random*>, "without a context it has no seed");

TEST(RandomStream, GoesOnWhereTheEventBeforeStopped) {
  Stage stage(kKey, 3);
  RandomStream whole("service"), parts("service");
  std::vector<std::uint64_t> expected, actual;
  for (int i = 0; i < 12; ++i) expected.push_back(stage.random(whole).next());
  for (std::uint64_t event = 0; event < 4; ++event) {
    stage.begin_event(event * 10);
    stage.random().next();  // the LP's own stream disturbs nothing
    for (int i = 0; i < 3; ++i) actual.push_back(stage.random(parts).next());
  }
  EXPECT_EQ(actual, expected);
}

TEST(RandomStream, ACopyOfTheStateReplays) {
  Stage stage(kKey, 3);
  RandomStream stream("service");
  for (int i = 0; i < 5; ++i) stage.random(stream).next();
  RandomStream kept = stream;
  const double first = stage.random(stream).gamma(2, 3);
  EXPECT_EQ(stage.random(kept).gamma(2, 3), first);
}

TEST(RandomStream, NamesFormsLpsSeedsAndItemsDiffer) {
  std::set<std::uint64_t> seen;
  std::size_t drawn = 0;
  const auto add = [&](Random random) {
    seen.insert(random.next());
    ++drawn;
  };
  for (std::uint32_t i = 0; i < 500; ++i) {
    const std::string name = "stream" + std::to_string(i);
    Stage stage(kKey, 7);
    RandomStream named{RandomName(name)}, numbered(RandomName("stream", i));
    add(stage.random(named));
    add(stage.random(numbered));
    add(stage.random(RandomName(name), 0));
    add(stage.random("x", i));
    add(Stage(kKey, 100 + i).random("x", 0));
    add(Stage(kKey + 1 + i, 7).random("x", 0));
    Stage other(kKey, 100 + i);
    RandomStream same("x");
    add(other.random(same));
    add(other.random());
  }
  EXPECT_EQ(seen.size(), drawn);
}

TEST(RandomStream, AnItemDependsOnNothingThatWasDrawn) {
  Stage stage(kKey, 3);
  const std::uint64_t first = stage.random("call", 41).next();
  for (int i = 0; i < 9; ++i) stage.random().next();
  stage.random("call", 40).next();
  EXPECT_EQ(stage.random("call", 41).next(), first);
}

TEST(RandomStream, AForkedRunDrawsByItsOwnSeed) {
  RandomStream before("service"), after("service");
  Stage old(kKey, 3), forked(kKey + 1, 3);
  for (int i = 0; i < 3; ++i) old.random(before).next(), forked.random(after).next();
  // The half block left over belongs to the old seed.
  EXPECT_NE(forked.random(before).next(), old.random(after).next());
  forked.random(after).next();
  EXPECT_NE(old.random(before).next(), forked.random(after).next());
}

TEST(RandomStream, TellsReverseHandlersEnginesWhatChanges) {
  Stage stage(kKey, 3);
  RandomStream stream("service");
  stage.random(stream).next();
  EXPECT_TRUE(stage.saved.empty());
  stage.set_reversing();
  stage.random(stream).next();
  ASSERT_EQ(stage.saved.size(), 1u);
  EXPECT_EQ(stage.saved[0].first, &stream);
  EXPECT_EQ(stage.saved[0].second, sizeof stream);
}

TEST(RandomStream, RefusesItemsBeyondItsSpace) {
  Stage stage(kKey, 3);
  EXPECT_NO_THROW(stage.random("call", RandomStream::kItemsMax - 1));
  try {
    stage.random("call", RandomStream::kItemsMax);
    ADD_FAILURE() << "accepted";
  } catch (const std::invalid_argument& refusal) {
    EXPECT_STREQ(refusal.what(),
                 "RandomStream: an item's number must be below 2^36, but it is 68719476736.");
  }
}

class Drawing final : public Model {
 public:
  std::uint64_t lp_count() const override { return 1; }
  std::unique_ptr<LogicalProcessBase> create(LpId) const override { return nullptr; }
  std::uint64_t draw(const char* name, std::uint64_t item = 0) const {
    return random(name, item).next();
  }
};

TEST(RandomStream, OfAModelDependsOnSeedNameAndItem) {
  Drawing model, other;
  ModelAccess::set_seed(model, 5);
  ModelAccess::set_seed(other, 6);
  EXPECT_EQ(model.draw("map"), model.draw("map"));
  EXPECT_NE(model.draw("map"), model.draw("home"));
  EXPECT_NE(model.draw("map"), model.draw("map", 1));
  EXPECT_NE(model.draw("map"), other.draw("map"));
  EXPECT_NE(model.draw("map"), Stage(5, 0xffffffff).random("map", 0).next());
}

TEST(RandomStream, OfAModelHasTheSeedThatItIsPreparedFor) {
  Drawing model, expected;
  prepare_model(model, 9);
  ModelAccess::set_seed(expected, 9);
  EXPECT_EQ(model.draw("map"), expected.draw("map"));
}

TEST(RandomStreamGolden, EveryForm) {
  Stage stage(kKey, 3);
  RandomStream stream("service");
  EXPECT_EQ(stage.random(stream).next(), 11928752539969652009u);
  EXPECT_EQ(stage.random("service", 2).next(), 14762114384424542594u);
  Drawing model;
  ModelAccess::set_seed(model, kKey);
  EXPECT_EQ(model.draw("service", 2), 9000183066760808655u);
}

}  // namespace
}  // namespace orrery
