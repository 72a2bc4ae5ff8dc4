// SPDX-License-Identifier: Apache-2.0
//
// What a report says of the place of a crash.
#include "run/containment/frame_names.h"

#include <gtest/gtest.h>

namespace orrery::testing {

// Not in an anonymous namespace: both have symbols then.
[[gnu::noinline]] const void* where_it_was() {
  return __builtin_return_address(0);
}
[[gnu::noinline]] const void* whoever_called_it() {
  const void* const here = where_it_was();
  asm volatile("");  // no tail call
  return here;
}

namespace {

TEST(FrameNames, FunctionsAsTheirAuthorsWroteThem) {
  if (!can_name_frames()) GTEST_SKIP() << "built without libdw";
  Frames frames;
  frames.add(whoever_called_it());
  EXPECT_NE(frame_lines(frames).find("\n  in orrery::testing::whoever_called_it()"),
            std::string::npos)
      << frame_lines(frames);
  frames.add(whoever_called_it());
  EXPECT_NE(frame_lines(frames).find("\n  called by orrery::testing::whoever_called_it()"),
            std::string::npos)
      << frame_lines(frames);
}

TEST(FrameNames, NothingWhereNothingIs) {
  EXPECT_EQ(frame_lines({}), "");
  Frames frames;
  frames.add(reinterpret_cast<const void*>(16));
  EXPECT_EQ(frame_lines(frames), "");
}

}  // namespace
}  // namespace orrery::testing
