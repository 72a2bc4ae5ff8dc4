// SPDX-License-Identifier: Apache-2.0
//
// Tables in huge pages: where they lie, that they are whole, and that the system is asked.
#include "core/huge_pages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

namespace orrery {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

bool is_aligned(const void* memory, std::size_t alignment) {
  return reinterpret_cast<std::uintptr_t>(memory) % alignment == 0;
}

/// The flags of the mapping that `memory` lies in, as /proc/self/smaps has them.
std::string mapping_flags(const void* memory) {
  std::ifstream maps("/proc/self/smaps");
  const auto address = reinterpret_cast<unsigned long>(memory);
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin = 0;
    unsigned long end = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2)
      inside = begin <= address && address < end;
    if (inside && line.starts_with("VmFlags:")) return line + " ";
  }
  return "";
}

TEST(HugePages, MemoryIsAlignedZeroedAndWhole) {
  for (const std::size_t bytes : {std::size_t{1}, 5 * kMiB + 12345, 6 * kMiB}) {
    auto* const memory = static_cast<unsigned char*>(huge_pages::map(bytes));
    ASSERT_NE(memory, nullptr);
    EXPECT_TRUE(is_aligned(memory, huge_pages::kPageBytes));
    EXPECT_TRUE(std::all_of(memory, memory + bytes, [](unsigned char byte) { return byte == 0; }));
    std::fill_n(memory, bytes, static_cast<unsigned char>(1));
    huge_pages::unmap(memory, bytes);
    EXPECT_EQ(mapping_flags(memory), "") << "it went back to the system";
  }
}

TEST(HugePages, TheSystemIsAskedForThem) {
  if (!std::ifstream("/sys/kernel/mm/transparent_hugepage/enabled"))
    GTEST_SKIP() << "this system has no transparent huge pages";
  void* const huge = huge_pages::map(4 * kMiB);
  void* const small = huge_pages::map_small(4 * kMiB);
  EXPECT_NE(mapping_flags(huge).find(" hg "), std::string::npos);
  EXPECT_EQ(mapping_flags(small).find(" hg "), std::string::npos);
  huge_pages::unmap(huge, 4 * kMiB);
  huge_pages::unmap(small, 4 * kMiB);
}

TEST(HugePages, WhereThereIsNoMemoryTheAnswerIsNull) {
  EXPECT_EQ(huge_pages::map(std::size_t{1} << 60), nullptr);
  EXPECT_THROW(HugePageAllocator<std::uint64_t>().allocate(std::size_t{1} << 57), std::bad_alloc);
}

TEST(HugePageAllocator, ATableKeepsItsContentsAsItGrows) {
  std::vector<std::uint64_t, HugePageAllocator<std::uint64_t>> table;
  const std::size_t large = 2 * huge_pages::kLeastTableBytes / sizeof(std::uint64_t);
  for (std::uint64_t i = 0; i < large; ++i) table.push_back(i);
  for (std::uint64_t i = 0; i < large; ++i) ASSERT_EQ(table[i], i);
  EXPECT_TRUE(is_aligned(table.data(), huge_pages::kPageBytes));
}

TEST(HugePageAllocator, ASmallTableIsAlignedAsItsElements) {
  struct alignas(256) Line {
    char bytes[256];
  };
  std::vector<Line, HugePageAllocator<Line>> table(3);
  EXPECT_TRUE(is_aligned(table.data(), alignof(Line)));
}

}  // namespace
}  // namespace orrery
