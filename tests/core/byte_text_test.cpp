// SPDX-License-Identifier: Apache-2.0
//
// Sizes of memory, read and written.
#include "core/byte_text.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(ByteText, ReadsNumbersWithUnits) {
  EXPECT_EQ(parse_bytes("4GiB"), std::uint64_t{4} << 30);
  EXPECT_EQ(parse_bytes("4 GB"), 4'000'000'000u);
  EXPECT_EQ(parse_bytes("1.5k"), 1536u);
  EXPECT_EQ(parse_bytes("1048576"), 1'048'576u);
  for (const char* wrong : {"", "x", "-1", "4X", "4 Gigs", "1e30", "nan"})
    EXPECT_EQ(parse_bytes(wrong), std::nullopt) << wrong;
}

TEST(ByteText, WritesWhatReadsBack) {
  EXPECT_EQ(exact_bytes_text(0), "0");
  EXPECT_EQ(exact_bytes_text(1000), "1000");
  EXPECT_EQ(exact_bytes_text(1024), "1KiB");
  EXPECT_EQ(exact_bytes_text(std::uint64_t{3} << 30), "3GiB");
  for (const std::uint64_t bytes : {std::uint64_t{65}, std::uint64_t{1536}, std::uint64_t{1} << 60})
    EXPECT_EQ(parse_bytes(exact_bytes_text(bytes)), bytes);
}

}  // namespace
}  // namespace orrery
