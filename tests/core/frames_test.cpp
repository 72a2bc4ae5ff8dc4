// SPDX-License-Identifier: Apache-2.0
//
// Walks along frame pointers: what they find, and that nothing leads out of the stack.
#include "core/frames.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <vector>

namespace orrery {
namespace {

/// A stack of words, with links by index.
class FakeStack {
 public:
  const void* at(std::size_t word) const { return &words_[word]; }
  const std::byte* begin() const { return reinterpret_cast<const std::byte*>(words_.data()); }
  const std::byte* end() const { return begin() + sizeof words_; }
  void link(std::size_t word, const void* outer, std::uintptr_t return_address) {
    words_[word] = reinterpret_cast<std::uintptr_t>(outer);
    words_[word + 1] = return_address;
  }
  std::vector<std::uintptr_t> walk(const CodePoint& from) const {
    const Frames frames = find_frames(from, begin(), end());
    std::vector<std::uintptr_t> all;
    for (std::size_t i = 0; i < frames.count; ++i)
      all.push_back(reinterpret_cast<std::uintptr_t>(frames.at[i]));
    return all;
  }

 private:
  alignas(16) std::array<std::uintptr_t, 64> words_{};
};

using Addresses = std::vector<std::uintptr_t>;
const void* const kInstruction = reinterpret_cast<const void*>(100);

TEST(Frames, FollowTheLinksOutwards) {
  FakeStack stack;
  stack.link(4, stack.at(10), 200);
  stack.link(10, stack.at(30), 300);
  stack.link(30, nullptr, 400);
  EXPECT_EQ(stack.walk({kInstruction, stack.at(2), stack.at(4)}), (Addresses{100, 200, 300, 400}));
  EXPECT_EQ(stack.walk({nullptr, stack.at(2), stack.at(4)}), (Addresses{200, 300, 400}));
}

TEST(Frames, EndWhereTheStackDoes) {
  FakeStack stack;
  stack.link(4, stack.end(), 200);
  EXPECT_EQ(stack.walk({kInstruction, stack.at(2), stack.at(4)}), (Addresses{100, 200}));
  stack.link(4, stack.at(63), 200);  // half a link would lie behind the end
  EXPECT_EQ(stack.walk({kInstruction, stack.at(2), stack.at(4)}), (Addresses{100, 200}));
  stack.link(4, kInstruction, 200);
  EXPECT_EQ(stack.walk({kInstruction, stack.at(2), stack.at(4)}), (Addresses{100, 200}));
}

TEST(Frames, NeverGoBack) {
  FakeStack stack;
  stack.link(4, stack.at(10), 200);
  stack.link(10, stack.at(4), 300);  // a ring
  EXPECT_EQ(stack.walk({kInstruction, stack.at(2), stack.at(4)}), (Addresses{100, 200, 300}));
  EXPECT_EQ(stack.walk({kInstruction, stack.at(6), stack.at(4)}), (Addresses{100}))
      << "a frame beneath the stack pointer is none";
}

TEST(Frames, OfCodeThatUsesTheRegisterForSomethingElse) {
  FakeStack stack;
  const auto* const odd = static_cast<const std::byte*>(stack.at(4)) + 3;
  EXPECT_EQ(stack.walk({kInstruction, stack.at(2), odd}), (Addresses{100}));
  EXPECT_EQ(stack.walk({kInstruction, stack.at(2), nullptr}), (Addresses{100}));
}

TEST(Frames, AreBounded) {
  FakeStack stack;
  for (std::size_t i = 0; i < 60; i += 2) stack.link(i, stack.at(i + 2), 1000 + i);
  EXPECT_EQ(stack.walk({kInstruction, stack.at(0), stack.at(0)}).size(), Frames::kMost);
}

}  // namespace
}  // namespace orrery
