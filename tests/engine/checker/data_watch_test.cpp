// SPDX-License-Identifier: Apache-2.0
#include "engine/checker/data_watch.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "orrery/orrery.h"

namespace orrery::page {
/// Stands for data that another thread of the platform changes.
long data_of_the_platform = 0;
}  // namespace orrery::page

namespace orrery::testing {

long data_of_the_model = 0;

namespace {

struct Unwatched {};

class UnwatchedLp final : public LogicalProcess<UnwatchedLp, Unwatched> {
 public:
  void handle(Context&, const Unwatched&) {}
};

class UnwatchedModel final : public Model {
 public:
  std::uint64_t lp_count() const override { return 1; }
  std::unique_ptr<LogicalProcessBase> create(LpId) const override {
    return std::make_unique<UnwatchedLp>();
  }
};

/// A thread of the platform may change its data while a handler of a model in the same file runs.
TEST(DataWatch, TellsDataOfThePlatformFromThoseOfModels) {
  const UnwatchedModel model;
  checker::DataWatch watch(model);
  ++page::data_of_the_platform;
  EXPECT_EQ(watch.changed(), nullptr);
  ++data_of_the_model;
  const void* const changed = watch.changed();
  ASSERT_NE(changed, nullptr);
  EXPECT_NE(checker::variable_name(changed).find("data_of_the_model"), std::string::npos);
}

}  // namespace
}  // namespace orrery::testing
