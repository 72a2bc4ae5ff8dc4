// SPDX-License-Identifier: Apache-2.0
//
// Control groups and bounds on real-time threads, in folders that look like the system's.
#include "director/groups.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "orrery/error.h"

namespace orrery::director {
namespace {

namespace fs = std::filesystem;

class DirectorGroups : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("orrery-groups-" + std::to_string(getpid()));
    fs::create_directories(folder_);
    write("mountinfo", "30 1 0:26 / " + (folder_ / "unified").string() +
                           " rw shared:4 - cgroup2 cgroup2 rw\n31 1 0:27 / " +
                           (folder_ / "cpu").string() +
                           " rw shared:5 - cgroup cgroup rw,cpu,cpuacct\n");
    write("proc/sys/kernel/sched_rt_runtime_us", "950000\n");
    write("proc/sys/kernel/sched_rt_period_us", "1000000\n");
    files_ = {.proc = folder_ / "proc", .mounts = folder_ / "mountinfo"};
  }
  void TearDown() override { fs::remove_all(folder_); }

  void write(const std::string& path, const std::string& text) const {
    fs::create_directories((folder_ / path).parent_path());
    std::ofstream(folder_ / path) << text;
  }

  std::string refusal_of(const std::string& name) const {
    try {
      folder_of_group(name, files_);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  }

  fs::path folder_;
  SystemFiles files_;
};

TEST_F(DirectorGroups, AGroupIsFoundByItsPathInEitherVersion) {
  write("unified/new/cgroup.procs", "12\n");
  write("cpu/old/inner/cgroup.procs", "34\n");
  EXPECT_EQ(folder_of_group("new", files_), folder_ / "unified/new");
  EXPECT_EQ(folder_of_group("/old/inner", files_), folder_ / "cpu/old/inner");
  EXPECT_EQ(folder_of_group((folder_ / "unified/new").string(), files_), folder_ / "unified/new");
}

TEST_F(DirectorGroups, NoneOrSeveralAreRefused) {
  write("unified/empty/cgroup.procs", "");
  EXPECT_NE(refusal_of("nowhere").find("there is no control group 'nowhere'"), std::string::npos);
  EXPECT_NE(refusal_of("empty").find("with a process in it"), std::string::npos);
  write("unified/both/cgroup.procs", "1\n");
  write("cpu/both/cgroup.procs", "2\n");
  EXPECT_NE(refusal_of("both").find("several control groups 'both'"), std::string::npos);
  write("cpu/both/cgroup.procs", "1\n");  // one group, in both hierarchies
  EXPECT_EQ(folder_of_group("both", files_), folder_ / "unified/both");
}

TEST_F(DirectorGroups, ProcessesOfInnerGroupsBelongToIt) {
  write("unified/a/cgroup.procs", "30\n10\n0\n");
  write("unified/a/b/c/cgroup.procs", "20\n10\n");
  EXPECT_EQ(processes_of_group(folder_ / "unified/a"), (std::vector<pid_t>{10, 20, 30}));
}

TEST_F(DirectorGroups, TheShareOfTheSystem) {
  EXPECT_DOUBLE_EQ(share_of_system(files_).share, 0.95);
  EXPECT_TRUE(share_of_system(files_).is_bound());
  write("proc/sys/kernel/sched_rt_runtime_us", "-1\n");
  EXPECT_FALSE(share_of_system(files_).is_bound());
}

TEST_F(DirectorGroups, TheLeastShareOfAllGroupsAboveHolds) {
  write("proc/7/cgroup", "9:name=systemd:/\n1:cpu,cpuacct:/a/b\n0::/\n");
  write("cpu/cgroup.procs", "");
  write("cpu/cpu.rt_runtime_us", "950000");
  write("cpu/cpu.rt_period_us", "1000000");
  write("cpu/a/cgroup.procs", "");
  write("cpu/a/cpu.rt_runtime_us", "100000");
  write("cpu/a/cpu.rt_period_us", "500000");
  write("cpu/a/b/cgroup.procs", "7");
  write("cpu/a/b/cpu.rt_runtime_us", "300000");
  write("cpu/a/b/cpu.rt_period_us", "1000000");
  const auto share = share_of_group(7, files_);
  ASSERT_TRUE(share);
  EXPECT_DOUBLE_EQ(share->share, 0.2);
  EXPECT_EQ(share->where, folder_ / "cpu/a/cpu.rt_runtime_us");
  write("cpu/a/b/cpu.rt_runtime_us", "0");
  EXPECT_DOUBLE_EQ(share_of_group(7, files_)->share, 0);
}

TEST_F(DirectorGroups, WithoutGroupsOfVersionOneThereIsNoShare) {
  write("proc/7/cgroup", "0::/a\n");
  EXPECT_FALSE(share_of_group(7, files_));
  EXPECT_FALSE(share_of_group(8, files_));
}

}  // namespace
}  // namespace orrery::director
