// SPDX-License-Identifier: Apache-2.0
//
// What an LP's heap saves of itself.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "memory/lp_heap.h"

namespace orrery::memory::testing {

using Image = std::vector<std::byte>;

/// Written into the caches and past them, which must not differ.
inline Image save(const LpHeap& heap) {
  Image image(heap.image_bytes()), streamed(heap.image_bytes());
  EXPECT_EQ(heap.save(image.data()), image.size());
  EXPECT_EQ(heap.stream(streamed.data()), image.size());
  EXPECT_EQ(streamed, image);
  return image;
}

}  // namespace orrery::memory::testing
