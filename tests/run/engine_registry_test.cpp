// SPDX-License-Identifier: Apache-2.0
//
// Engines by name, and what is said to those who mistype one.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "orrery/error.h"
#include "run/engine.h"

namespace orrery {
namespace {

TEST(Registry, KnowsTheEngines) {
  std::vector<std::string> names;
  for (const EngineInfo& info : engines()) {
    names.push_back(info.name);
    EXPECT_FALSE(info.summary.empty()) << info.name;
    EXPECT_NE(info.make(), nullptr) << info.name;
    EXPECT_EQ(&find_engine(info.name), &info);
  }
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  for (const char* engine : {"checker", "sequential", "timewarp"})
    EXPECT_NE(std::find(names.begin(), names.end(), engine), names.end()) << engine;
}

TEST(Registry, KnowsWhichEnginesAreForResults) {
  EXPECT_EQ(find_engine("sequential").use, EngineUse::results);
  EXPECT_EQ(find_engine("timewarp").use, EngineUse::results);
  EXPECT_EQ(find_engine("checker").use, EngineUse::diagnosis);
}

TEST(Registry, RefusesAnUnknownEngineWithWhatThereIs) {
  try {
    find_engine("timewrap");
    FAIL() << "there is no such engine";
  } catch (const UsageError& error) {
    const std::string sentence = error.what();
    for (const char* part : {"'timewrap'", "did you mean 'timewarp'", "sequential"})
      EXPECT_NE(sentence.find(part), std::string::npos) << sentence;
  }
}

}  // namespace
}  // namespace orrery
