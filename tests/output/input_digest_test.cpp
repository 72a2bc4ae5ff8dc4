// SPDX-License-Identifier: Apache-2.0
//
// A file has the digest of its content, whatever its size beside that of the blocks in which it is
// read.
#include "output/input_digest.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace orrery {
namespace {

TEST(InputDigest, OfAFileIsThatOfItsContent) {
  const std::string path = testing::TempDir() + "input-digest." + std::to_string(getpid());
  for (const std::size_t size :
       {0UL, 1UL, 1000UL, (1UL << 20) - 1, 1UL << 20, (1UL << 20) + 1, (3UL << 20) + 12345}) {
    std::string content(size, 'x');
    for (std::size_t i = 0; i < size; ++i) content[i] = static_cast<char>(i * i >> 3);
    std::ofstream(path, std::ios::binary) << content;
    EXPECT_EQ(input_digest_of(path), input_digest(content)) << size;
  }
  std::filesystem::remove(path);
}

TEST(InputDigest, OfWhatCannotBeReadIsEmpty) {
  EXPECT_EQ(input_digest_of("/nonexistent/file"), "");
}

}  // namespace
}  // namespace orrery
