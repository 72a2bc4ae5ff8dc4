// SPDX-License-Identifier: Apache-2.0
//
// Whose folder it is, which runs in it are finished, and the line that tells how far a study is.
#include "study/study_folder.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "orrery/error.h"
#include "study/study_progress.h"

namespace orrery::study {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

class StudyFolderTest : public testing::Test {
 protected:
  StudyFolderTest()
      : path_(fs::path(testing::TempDir()) / ("orrery-study-folder-" + std::to_string(getpid()))) {
    fs::remove_all(path_);
  }
  ~StudyFolderTest() override { fs::remove_all(path_); }

  std::string refusal(const Json& plan) {
    try {
      StudyFolder(path_.string(), plan, false);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  }

  void write(const fs::path& name, const std::string& text) {
    fs::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name) << text;
  }

  const fs::path path_;
};

TEST_F(StudyFolderTest, BelongsToOneStudy) {
  const Json plan = {{"model", "phold"}, {"seeds", {1, 2}}};
  {
    const StudyFolder folder(path_.string(), plan, false);
    EXPECT_EQ(folder.run_folder(0, 7), (path_ / "runs/point-1/seed-7").string());
  }
  EXPECT_EQ(refusal(plan), "");
  EXPECT_NE(
      refusal({{"model", "phold"}, {"seeds", {1, 3}}}).find("its 'seeds' is [1,2], not [1,3]"),
      std::string::npos);
  EXPECT_NE(refusal({{"model", "pcs"}, {"seeds", {1, 2}}}).find("its 'model' is phold, not pcs"),
            std::string::npos);
  StudyFolder(path_.string(), {{"model", "pcs"}}, true);
  EXPECT_EQ(refusal({{"model", "pcs"}}), "");
}

TEST_F(StudyFolderTest, IsNotThatOfARun) {
  write("report.json", "{}");
  EXPECT_NE(refusal({{"model", "phold"}}).find("holds the report.json"), std::string::npos);
}

TEST_F(StudyFolderTest, KnowsFinishedRuns) {
  const std::string folder = (path_ / "run").string();
  RunIdentity wanted{{"run", "phold", "--seed=1"}, "abc", ""};
  Json report;
  EXPECT_EQ(look_for_run(folder, wanted, report), Found::nothing);
  write("run/report.json", "{\"complete\": tr");
  EXPECT_EQ(look_for_run(folder, wanted, report), Found::nothing);
  Json good = {{"complete", true},
               {"orrery", {{"build", "abc"}}},
               {"model", {{"name", "phold"}}},
               {"command", {"run", "phold", "--seed=1", "--quiet"}}};
  write("run/report.json", good.dump());
  EXPECT_EQ(look_for_run(folder, wanted, report), Found::finished);
  EXPECT_EQ(report, good);
  wanted.command[2] = "--seed=2";
  EXPECT_EQ(look_for_run(folder, wanted, report), Found::another);
  wanted.command[2] = "--seed=1";
  wanted.program_build = "abd";
  EXPECT_EQ(look_for_run(folder, wanted, report), Found::of_another_build);
  wanted.program_build = "abc";
  good["complete"] = false;
  write("run/report.json", good.dump());
  EXPECT_EQ(look_for_run(folder, wanted, report), Found::nothing);
}

TEST(StudyProgress, TellsWhatIsLeft) {
  EXPECT_EQ(progress_line({0, 40, 0, 2, 0, 0}, Terminal()), "  0 %  0 of 40 runs  2 running");
  EXPECT_EQ(progress_line({12, 40, 0, 2, 2, 10}, Terminal()),
            " 30 %  12 of 40 runs  2 running  28 s left");
  EXPECT_EQ(progress_line({12, 40, 8, 2, 2, 30}, Terminal()),
            " 30 %  12 of 40 runs  8 failed  2 running  1 min 00 s left");
  const Terminal wide{true, false, false, 100};
  EXPECT_NE(progress_line({12, 40, 8, 2, 2, 30}, wide).find("######......"), std::string::npos);
  const Terminal narrow{true, false, false, 30};
  EXPECT_LT(display_width(progress_line({12, 40, 8, 2, 2, 30}, narrow)), 30u);
}

}  // namespace
}  // namespace orrery::study
