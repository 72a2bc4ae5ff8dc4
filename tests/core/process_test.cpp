// SPDX-License-Identifier: Apache-2.0
#include "core/process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <string>
#include <system_error>
#include <vector>

#include "core/descriptor.h"
#include "core/median.h"

namespace orrery {
namespace {

class Processes : public ::testing::TestWithParam<bool> {
 protected:
  /// What the shell command prints; `status_` becomes its status.
  std::string output_of(const std::string& command) {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    const Descriptor near(ends[0]);
    {
      const Descriptor far(ends[1]);
      status_ = wait_for_process(start_process({.words = {"sh", "-c", command},
                                                .program = "/bin/sh",
                                                .descriptors = {{far.get(), STDOUT_FILENO}},
                                                .group = 0,
                                                .dies_with_this = GetParam()}));
    }
    std::array<char, 256> text{};
    const ssize_t bytes = read(near.get(), text.data(), text.size());
    return {text.data(), bytes > 0 ? static_cast<std::size_t>(bytes) : 0};
  }
  int status_ = 0;
};

TEST_P(Processes, TellTheirOutputAndEnd) {
  EXPECT_EQ(output_of("echo hello; exit 3"), "hello\n");
  EXPECT_EQ(exit_code_of(status_), 3);
  EXPECT_EQ(end_text(status_), "ended with exit code 3");
  EXPECT_EQ(output_of("kill -9 $$"), "");
  EXPECT_EQ(exit_code_of(status_), 137);
  EXPECT_EQ(end_text(status_), "was ended by signal 9 (Killed)");
}

INSTANTIATE_TEST_SUITE_P(BothWays, Processes, ::testing::Bool());

TEST(Process, ThatDoesNotExistIsAnError) {
  EXPECT_THROW(start_process({.words = {"x"}, .program = "/no/such/program"}), std::system_error);
}

TEST(Median, IsInTheMiddle) {
  std::vector<double> values = {5, 1, 4};
  EXPECT_EQ(median_of({}), 0);
  EXPECT_EQ(median_of(values), 4);
  values = {8, 1, 2, 4};
  EXPECT_EQ(median_of(values), 3);
}

}  // namespace
}  // namespace orrery
