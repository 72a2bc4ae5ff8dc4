// SPDX-License-Identifier: Apache-2.0
//
// Memory for events of engines that come and go on arenas that stay: it goes back to the arena that
// it came from, wherever the blocks were freed.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "engine/timewarp/mailbox.h"
#include "sanitizers.h"

namespace orrery::timewarp {
namespace {

memory::Colouring colouring() {
  memory::CacheFacts cache;
  memory::Colouring its = memory::Colouring::of(cache, 0.5);
  its.huge_pages = false;
  return its;
}

/// Two workers' pools over one depot: half of what each makes is freed by the other.
void run_an_engine(memory::Arena& first_arena, memory::Arena& second_arena) {
  EventDepot depot;
  using Pool = EventPool<64, Pools::many, IntensiveSlabs>;
  Pool first(depot, IntensiveSlabs(first_arena)), second(depot, IntensiveSlabs(second_arena));
  constexpr std::size_t kEvents = 6000;
  std::vector<void*> events(kEvents);
  for (std::size_t i = 0; i < kEvents; ++i) {
    const std::size_t bytes = i % 100 == 0 ? 40'000 : 64 + i % 3 * 64;
    events[i] = (i % 2 == 0 ? first : second).allocate(bytes);
    std::memset(events[i], static_cast<int>(i & 0xff), bytes);
  }
  for (std::size_t i = 0; i < kEvents - 50; ++i) {
    ASSERT_EQ(*static_cast<const unsigned char*>(events[i]), i & 0xff);
    const std::size_t bytes = i % 100 == 0 ? 40'000 : 64 + i % 3 * 64;
    (i % 4 < 2 ? first : second).release(events[i], bytes);
  }
  EXPECT_GT(depot.slab_bytes(), kEvents * 64);
}

TEST(IntensiveSlabs, GoBackToTheirArenas) {
  memory::Arena first(colouring()), second(colouring());
  run_an_engine(first, second);
  const std::size_t first_stock = first.stock_bytes(), second_stock = second.stock_bytes();
  EXPECT_GT(first_stock, 0u);
  for (int round = 1; round < (orrery::testing::kSanitizers ? 100 : 1000); ++round) {
    run_an_engine(first, second);
    ASSERT_EQ(first.stock_bytes(), first_stock) << "round " << round;
    ASSERT_EQ(second.stock_bytes(), second_stock) << "round " << round;
  }
  EXPECT_EQ(first.displaced_bytes(), 0u);
}

TEST(IntensiveSlabs, TakeNothingOfAnArenaWithoutColours) {
  memory::Arena first, second;
  for (int round = 0; round < 10; ++round) run_an_engine(first, second);
  EXPECT_EQ(first.stock_bytes(), 0u);
  EXPECT_EQ(second.stock_bytes(), 0u);
}

}  // namespace
}  // namespace orrery::timewarp
