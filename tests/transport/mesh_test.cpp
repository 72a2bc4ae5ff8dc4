// SPDX-License-Identifier: Apache-2.0
//
// The rings of all pairs of workers.
#include "transport/mesh.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <climits>
#include <vector>

namespace orrery::transport {
namespace {

TEST(Mesh, ShortensRingsWhenThereAreManyWorkers) {
  EXPECT_EQ(ring_capacity(2, 4096), 4096u);
  EXPECT_EQ(ring_capacity(8, 4096), 4096u);
  EXPECT_EQ(ring_capacity(9, 4096), 2048u);
  EXPECT_EQ(ring_capacity(1024, 4096), 64u);
  EXPECT_EQ(ring_capacity(1024, 16), 16u) << "what was asked for is never exceeded";
  EXPECT_EQ(ring_capacity(2, 5000), 4096u) << "a power of two";
  EXPECT_EQ(ring_capacity(2, 0), 1u);
}

TEST(Mesh, KeepsPairsApart) {
  Mesh<int> mesh(3, 8);
  for (unsigned from = 0; from < 3; ++from)
    for (unsigned to = 0; to < 3; ++to)
      if (from != to) mesh.ring(from, to).push(static_cast<int>(from * 10 + to));
  mesh.flush(0);
  mesh.flush(2);
  for (unsigned to = 0; to < 3; ++to) {
    std::vector<int> expected;
    for (const unsigned from : {0u, 2u})
      if (from != to) expected.push_back(static_cast<int>(from * 10 + to));
    std::vector<int> received;
    EXPECT_EQ(mesh.drain(to, [&received](int entry) { received.push_back(entry); }),
              expected.size());
    EXPECT_EQ(received, expected);
  }
  mesh.flush(1);
  EXPECT_EQ(mesh.drain(0, [](int entry) { EXPECT_EQ(entry, 10); }), 1u);
}

TEST(Mesh, ShowsWhatWaitsInAnyRingOfAProducer) {
  Mesh<int> mesh(3, 1);
  for (const int entry : {5, 4}) mesh.ring(0, 1).push(entry);
  for (const int entry : {7, 3, 6}) mesh.ring(0, 2).push(entry);
  for (const int entry : {2, 1}) mesh.ring(1, 2).push(entry);
  mesh.flush(0);
  int lowest = INT_MAX, count = 0;
  mesh.for_each_waiting(0, [&](int entry) {
    lowest = std::min(lowest, entry);
    ++count;
  });
  EXPECT_EQ(count, 3);
  EXPECT_EQ(lowest, 3);
}

TEST(Mesh, TellsAProducerWhetherAllIsReceived) {
  Mesh<int> mesh(3, 1);
  const auto ignore = [](int) {};
  EXPECT_TRUE(mesh.all_received(0));
  mesh.ring(0, 1).push(1);
  EXPECT_FALSE(mesh.all_received(0)) << "it is not published";
  mesh.flush(0);
  EXPECT_FALSE(mesh.all_received(0)) << "nobody took it";
  EXPECT_TRUE(mesh.all_received(1)) << "what others sent does not count";
  mesh.ring(0, 1).push(2);
  mesh.drain(1, ignore);
  EXPECT_FALSE(mesh.all_received(0)) << "one found no room";
  mesh.flush(0);
  mesh.drain(2, ignore);
  EXPECT_FALSE(mesh.all_received(0)) << "another took nothing";
  mesh.drain(1, ignore);
  EXPECT_TRUE(mesh.all_received(0));
}

TEST(Mesh, HasNoRingForASingleWorker) {
  Mesh<int> mesh(1, 8);
  mesh.flush(0);
  mesh.for_each_waiting(0, [](int) { FAIL(); });
  EXPECT_EQ(mesh.drain(0, [](int) { FAIL(); }), 0u);
}

}  // namespace
}  // namespace orrery::transport
