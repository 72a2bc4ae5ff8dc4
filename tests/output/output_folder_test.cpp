// SPDX-License-Identifier: Apache-2.0
//
// A folder either holds a finished run or none.
#include "output/output_folder.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "orrery/error.h"

namespace orrery {
namespace {

namespace fs = std::filesystem;

class OutputFolderTest : public testing::Test {
 protected:
  OutputFolderTest() {
    std::string pattern = (fs::temp_directory_path() / "orrery-folder-XXXXXX").string();
    base_ = mkdtemp(pattern.data());
  }
  ~OutputFolderTest() override { fs::remove_all(base_); }

  std::string out() const { return (base_ / "out").string(); }
  void write(const std::string& path, const std::string& text) const {
    std::ofstream(path) << text;
  }
  std::string read(const std::string& name) const {
    std::stringstream text;
    text << std::ifstream(base_ / "out" / name).rdbuf();
    return text.str();
  }
  void finished_run(const std::string& file, const std::string& report) const {
    OutputFolder folder(out(), kReportName, true);
    write(folder.add(file), "rows");
    folder.publish(report);
  }
  fs::path base_;
};

TEST_F(OutputFolderTest, NothingIsVisibleBeforePublish) {
  OutputFolder folder(out(), kReportName, false);
  write(folder.add("a.csv"), "rows");
  EXPECT_FALSE(fs::exists(out() + "/a.csv"));
  folder.publish("{}");
  EXPECT_EQ(read("a.csv"), "rows");
  EXPECT_EQ(read("report.json"), "{}");
}

TEST_F(OutputFolderTest, UnpublishedFolderVanishes) {
  {
    OutputFolder folder(out(), kReportName, false);
    write(folder.add("a.csv"), "rows");
  }
  EXPECT_FALSE(fs::exists(out()));
}

TEST_F(OutputFolderTest, UnpublishedRunKeepsTheEarlierOne) {
  finished_run("a.csv", "old");
  {
    OutputFolder folder(out(), kReportName, true);
    write(folder.add("a.csv"), "new");
  }
  EXPECT_EQ(read("report.json"), "old");
  EXPECT_EQ(read("a.csv"), "rows");
  EXPECT_FALSE(fs::exists(out() + "/a.csv.part"));
}

TEST_F(OutputFolderTest, FinishedRunIsRefusedWithoutForce) {
  finished_run("a.csv", "old");
  EXPECT_THROW(OutputFolder(out(), kReportName, false), UsageError);
  EXPECT_NO_THROW(OutputFolder(out(), kComparisonName, false));
}

TEST_F(OutputFolderTest, ForceRemovesWhatTheOldReportNames) {
  finished_run("a.csv", R"({"files": ["a.csv", "../outside", 7, ".."]})");
  write((base_ / "outside").string(), "not ours");
  write(out() + "/mine.txt", "not ours");
  finished_run("b.csv", "new");
  EXPECT_FALSE(fs::exists(out() + "/a.csv"));
  EXPECT_EQ(read("b.csv"), "rows");
  EXPECT_TRUE(fs::exists(base_ / "outside"));
  EXPECT_EQ(read("mine.txt"), "not ours");
}

TEST_F(OutputFolderTest, TwoRunsCannotShareAFolder) {
  OutputFolder folder(out(), kReportName, false);
  EXPECT_THROW(OutputFolder(out(), kReportName, true), UsageError);
}

TEST(FileWriter, FullDiskIsASentence) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "this system has no /dev/full";
  FileWriter file("/dev/full");
  file.write("text");
  try {
    file.finish();
    FAIL() << "nothing was thrown";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("cannot write '/dev/full': the disk is full"),
              std::string::npos);
  }
}

}  // namespace
}  // namespace orrery
