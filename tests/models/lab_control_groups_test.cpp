// SPDX-License-Identifier: Apache-2.0
//
// Where control groups of hosts are made and what they bound, with a folder for /sys/fs/cgroup. A
// kernel puts files into a new group; here the test does before.
#include "../../models/lab/control_groups.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>

namespace orrery::lab::testing {
namespace {

namespace fs = std::filesystem;

class LabControlGroups : public ::testing::Test {
 protected:
  static constexpr pid_t kUs = 77;
  static constexpr const char* kV1 =
      "8:pids:/\n4:memory:/box/one\n3:cpu,cpuacct:/\n1:name=systemd:/\n0::/\n";
  static constexpr const char* kV2 = "0::/user.slice/lab.scope\n";

  LabControlGroups() { fs::remove_all(at_); }
  ~LabControlGroups() override { fs::remove_all(at_); }

  void write(const fs::path& path, const std::string& text) const {
    fs::create_directories((at_ / path).parent_path());
    std::ofstream(at_ / path) << text;
  }
  std::string read(const fs::path& path) const {
    std::ifstream file(at_ / path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  /// As if a group had been made there.
  void group(const fs::path& folder, const std::string& host) const {
    const fs::path name = folder / ("orrery-" + std::to_string(kUs) + "-" + host);
    for (const char* file : {"memory.limit_in_bytes", "memory.max", "pids.max", "cgroup.procs"})
      write(name / file, "");
  }
  void version_1() const {
    write("memory/box/one/memory.use_hierarchy", "1\n");
    for (const char* host : {"trial", "a"}) {
      group("memory/box/one", host);
      group("pids", host);
    }
  }
  void version_2(const std::string& controllers, const std::string& enabled) const {
    write("user.slice/lab.scope/cgroup.controllers", controllers);
    write("user.slice/lab.scope/cgroup.subtree_control", enabled);
    for (const char* host : {"trial", "a", "itself"}) group("user.slice/lab.scope", host);
  }

  const fs::path at_ =
      fs::path(::testing::TempDir()) / ("lab-control-groups-" + std::to_string(getpid()));
};

TEST_F(LabControlGroups, Version1HasOneForMemoryAndOneForProcesses) {
  version_1();
  const auto groups = ControlGroups::find(at_, kV1, kUs);
  ASSERT_TRUE(groups);
  const auto made = groups->make("a", {1 << 20, 9});
  EXPECT_EQ(made, (std::vector{at_ / "memory/box/one/orrery-77-a", at_ / "pids/orrery-77-a"}));
  EXPECT_EQ(read("memory/box/one/orrery-77-a/memory.limit_in_bytes"), "1048576");
  EXPECT_EQ(read("memory/box/one/orrery-77-a/pids.max"), "");
  EXPECT_EQ(read("pids/orrery-77-a/pids.max"), "9");
}

TEST_F(LabControlGroups, Version2HasOneForBoth) {
  version_2("cpu memory pids\n", "memory pids\n");
  const auto groups = ControlGroups::find(at_, kV2, kUs);
  ASSERT_TRUE(groups);
  EXPECT_EQ(groups->make("a", {1 << 20, 9}), std::vector{at_ / "user.slice/lab.scope/orrery-77-a"});
  EXPECT_EQ(read("user.slice/lab.scope/orrery-77-a/memory.max"), "1048576");
  EXPECT_EQ(read("user.slice/lab.scope/orrery-77-a/pids.max"), "9");
}

TEST_F(LabControlGroups, Version2EnablesControllersWhereItMay) {
  version_2("cpu memory pids\n", "");
  ASSERT_TRUE(ControlGroups::find(at_, kV2, kUs));
  EXPECT_EQ(read("user.slice/lab.scope/cgroup.subtree_control"), "+memory +pids");
}

TEST_F(LabControlGroups, WithoutOneOfBothThereAreNone) {
  EXPECT_FALSE(ControlGroups::find(at_, "", kUs));
  EXPECT_FALSE(ControlGroups::find(at_, "nonsense", kUs));
  EXPECT_FALSE(ControlGroups::find(at_, kV1, kUs)) << "the folders are not there";
  EXPECT_FALSE(ControlGroups::find(at_, kV2, kUs));
  version_2("cpu pids\n", "");
  EXPECT_FALSE(ControlGroups::find(at_, kV2, kUs));
  EXPECT_EQ(read("user.slice/lab.scope/cgroup.subtree_control"), "");
}

TEST_F(LabControlGroups, Version1WithoutHierarchyBoundsNothingBelow) {
  version_1();
  write("memory/box/one/memory.use_hierarchy", "0\n");
  EXPECT_FALSE(ControlGroups::find(at_, kV1, kUs));
}

TEST_F(LabControlGroups, AGroupThatCannotBeMadeLeavesNoOther) {
  version_1();
  const auto groups = ControlGroups::find(at_, kV1, kUs);
  ASSERT_TRUE(groups);
  EXPECT_THROW(groups->make("b", {1 << 20, 9}), std::system_error);
  EXPECT_FALSE(fs::exists(at_ / "memory/box/one/orrery-77-b"));
}

TEST_F(LabControlGroups, EmptyGroupsOfThoseWhoAreGoneAreRemoved) {
  version_1();
  const pid_t gone = fork();
  if (gone == 0) _exit(0);
  waitpid(gone, nullptr, 0);
  const std::string old = "orrery-" + std::to_string(gone) + "-x",
                    alive = "orrery-" + std::to_string(getpid()) + "-x";
  for (const std::string& name : {old, alive, std::string("orrery-x"), std::string("other")})
    fs::create_directories(at_ / "pids" / name);
  write("memory/box/one/" + old + "/cgroup.procs", "");  // not empty
  ASSERT_TRUE(ControlGroups::find(at_, kV1, kUs));
  EXPECT_FALSE(fs::exists(at_ / "pids" / old));
  for (const std::string& name : {alive, std::string("orrery-x"), std::string("other")})
    EXPECT_TRUE(fs::exists(at_ / "pids" / name)) << name;
  EXPECT_TRUE(fs::exists(at_ / "memory/box/one" / old));
}

}  // namespace
}  // namespace orrery::lab::testing
