// SPDX-License-Identifier: Apache-2.0
//
// How many federates may run: affinity, and quotas of control groups in folders made for it.
#include <gtest/gtest.h>
#include <sched.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "llf/cores.h"

namespace orrery::llf {
namespace {

class LlfCores : public ::testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/orrery-llf-XXXXXX";
    folder_ = mkdtemp(pattern);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void write(const std::string& file, const std::string& text) {
    const auto path = folder_ / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text << "\n";
  }
  unsigned cores(const std::string& membership) {
    return cores_of_control_groups(membership.c_str(), folder_.c_str());
  }
  std::filesystem::path folder_;
};

TEST_F(LlfCores, AreThoseOfTheThread) {
  cpu_set_t mine;
  ASSERT_EQ(sched_getaffinity(0, sizeof mine, &mine), 0);
  Cores cores{};
  cores.add_mine();
  EXPECT_EQ(cores.count(), static_cast<unsigned>(CPU_COUNT(&mine)));
  cores.add_mine();
  EXPECT_EQ(cores.count(), static_cast<unsigned>(CPU_COUNT(&mine)));
}

TEST_F(LlfCores, AreLimitedByEachControlGroupOnThePath) {
  write("cpu.max", "max 100000");
  write("a/cpu.max", "300000 100000");
  write("a/b/cpu.max", "max 100000");
  EXPECT_EQ(cores("0::/a/b\n"), 3u);
  write("a/b/cpu.max", "250000 100000");
  EXPECT_EQ(cores("0::/a/b\n"), 2u);
  write("a/b/cpu.max", "50000 100000");
  EXPECT_EQ(cores("0::/a/b\n"), 1u) << "less than one is one";
  EXPECT_EQ(cores("0::/\n"), Cores::kMost);
  write("cpu.max", "400000 100000");
  EXPECT_EQ(cores("0::/\n"), 4u);
}

TEST_F(LlfCores, AreLimitedByTheFirstVersionToo) {
  write("cpu/job/cpu.cfs_quota_us", "200000");
  write("cpu/job/cpu.cfs_period_us", "100000");
  EXPECT_EQ(cores("4:memory:/job\n3:cpuset:/job\n2:cpuacct,cpu:/job\n0::/\n"), 2u);
  EXPECT_EQ(cores("4:memory:/job\n3:cpuset:/job\n"), Cores::kMost);
  write("cpu/job/cpu.cfs_quota_us", "-1");
  EXPECT_EQ(cores("2:cpu:/job\n"), Cores::kMost);
  EXPECT_EQ(cores(""), Cores::kMost);
}

}  // namespace
}  // namespace orrery::llf
