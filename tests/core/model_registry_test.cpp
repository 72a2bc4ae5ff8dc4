// SPDX-License-Identifier: Apache-2.0
//
// Models by name, and what is said to those who mistype one.
#include "core/model_registry.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "orrery/error.h"

namespace orrery {
namespace {

class Still : public Model {
 public:
  std::uint64_t lp_count() const override { return 1; }
  std::unique_ptr<LogicalProcessBase> create(LpId) const override { return nullptr; }
};
class Zebra final : public Still {};
class Aardvark final : public Still {};

namespace zebra {
ORRERY_MODEL(Zebra, "test_zebra", "the last of the alphabet");
}
namespace aardvark {
ORRERY_MODEL(Aardvark, "test_aardvark", "the first");
}

TEST(NearMatches, FindsMistypedWords) {
  const std::vector<std::string> names = {"phold", "pcs", "traffic", "sequential", "timewarp"};
  const std::vector<std::pair<std::string, std::string>> cases = {{"pholt", "'phold'"},
                                                                  {"trafic", "'traffic'"},
                                                                  {"traffics", "'traffic'"},
                                                                  {"timewrap", "'timewarp'"},
                                                                  {"sequental", "'sequential'"},
                                                                  {"seq", "'sequential'"},
                                                                  {"pc", "'pcs'"},
                                                                  {"t", "'timewarp'"}};
  for (const auto& [word, expected] : cases) {
    const std::string text = near_matches(word, names);
    EXPECT_NE(text.find("did you mean "), std::string::npos) << word << ": " << text;
    EXPECT_NE(text.find(expected), std::string::npos) << word << ": " << text;
    EXPECT_TRUE(text.ends_with("?")) << text;
  }
}

/// The commonest slip of all, in names of any length.
TEST(NearMatches, FindsSwappedLetters) {
  for (const auto& [word, name] : std::vector<std::pair<std::string, std::string>>{
           {"phodl", "phold"}, {"psc", "pcs"}, {"timewrap", "timewarp"}})
    EXPECT_NE(near_matches(word, {name}).find("'" + name + "'"), std::string::npos) << word;
}

TEST(NearMatches, IsSilentWithoutAny) {
  EXPECT_EQ(near_matches("xyzzy", {"phold", "traffic"}), "");
  EXPECT_EQ(near_matches("phold", {}), "");
  EXPECT_EQ(near_matches("", {"phold", "traffic"}), "") << "an empty word is like no other";
}

TEST(NearMatches, NamesAtMostThreeTheNearestFirst) {
  const std::string text =
      near_matches("state", {"stxtx", "stats", "stake", "stxte", "state_size", "other"});
  EXPECT_EQ(std::count(text.begin(), text.end(), '\''), 6) << text;
  EXPECT_EQ(text.find("other"), std::string::npos) << text;
  EXPECT_EQ(text.find("stxtx"), std::string::npos) << "the farthest comes last: " << text;
}

TEST(Registry, ModelsComeSortedWithTheirSummaries) {
  std::vector<std::string> names;
  for (const ModelInfo& info : models()) names.push_back(info.name);
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  const auto zebra = std::find_if(models().begin(), models().end(),
                                  [](const ModelInfo& m) { return m.name == "test_zebra"; });
  ASSERT_NE(zebra, models().end());
  EXPECT_EQ(zebra->summary, "the last of the alphabet");
}

TEST(Registry, MakesAFreshModelEachTime) {
  std::string name;
  const auto one = make_model("test_zebra", &name);
  const auto two = make_model("test_zebra");
  EXPECT_EQ(name, "test_zebra");
  EXPECT_NE(one, two);
  EXPECT_NE(dynamic_cast<Zebra*>(one.get()), nullptr);
  EXPECT_NE(dynamic_cast<Aardvark*>(make_model("test_aardvark").get()), nullptr);
}

std::string refusal(const std::string& model) {
  try {
    make_model(model);
    return "";
  } catch (const UsageError& error) {
    return error.what();
  }
}

TEST(Registry, RefusesUnknownModels) {
  const std::string mistyped = refusal("test_zebar");
  for (const char* part : {"'test_zebar'", "did you mean 'test_zebra'", "orrery list"})
    EXPECT_NE(mistyped.find(part), std::string::npos) << mistyped;
  const std::string missing = refusal("./no/such/model.so");
  for (const char* part : {"./no/such/model.so", "does not exist"})
    EXPECT_NE(missing.find(part), std::string::npos) << missing;
}

TEST(Registry, RefusesFilesThatAreNoModel) {
  const auto path = std::filesystem::temp_directory_path() /
                    ("orrery-registry-test-" + std::to_string(getpid()) + ".so");
  std::ofstream(path) << "this is no shared object";
  const std::string sentence = refusal(path.string());
  std::filesystem::remove(path);
  for (const std::string& part : {path.string(), std::string("cannot load")})
    EXPECT_NE(sentence.find(part), std::string::npos) << sentence;
}

}  // namespace
}  // namespace orrery
