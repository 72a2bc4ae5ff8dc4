// SPDX-License-Identifier: Apache-2.0
//
// The network between directed machines without machines: arrivals, order, limits, hostile frames; and
// the clocks that one thread publishes for another.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "director/clock_board.h"
#include "director/net/control.h"
#include "director/net/machine_clocks.h"
#include "director/net/network.h"
#include "orrery/error.h"

namespace orrery::director {
namespace {

constexpr Nanoseconds kMillisecond = 1'000'000;

std::string machine(const std::string& name) {
  return "[[host]]\nname = '" + name + "'\nmachine = 'vm'\nkernel = '/dev/null'\n";
}

/// Machines a, b, c around a switch, 5 ms each, and d beside a, 1 s.
lab::Topology star(const std::string& link = "") {
  const std::string path = testing::TempDir() + "/orrery-net-" + std::to_string(getpid()) + ".toml";
  std::string text =
      machine("a") + machine("b") + machine("c") + machine("d") + "[[switch]]\nname = 's'\n";
  for (const char* name : {"a", "b", "c"})
    text += std::string("[[link]]\nbetween = ['") + name + "', 's']\ndelay = '5ms'\n" + link + "\n";
  text += "[[link]]\nbetween = ['a', 'd']\ndelay = '1s'\n";
  std::ofstream(path) << text;
  const lab::Topology topology = lab::read_topology(path);
  std::filesystem::remove(path);
  return topology;
}

std::vector<std::byte> frame(unsigned to, unsigned from, std::size_t bytes = 60) {
  std::vector<std::byte> made(bytes);
  made[0] = std::byte(to == 255 ? 255 : 2);
  for (std::size_t i = 1; i < 6; ++i) made[i] = std::byte(to == 255 ? 255 : 0);
  if (to != 255) made[5] = std::byte(to);
  made[6] = std::byte{2};
  made[11] = std::byte(from);
  return made;
}

TEST(DirectorNetwork, AFrameArrivesAfterTheDelaysOfItsLinks) {
  const lab::Topology topology = star();
  Network network(topology, 1, "");
  network.sent(0, 0, 100 * kMillisecond, frame(255, 1));
  EXPECT_EQ(network.next(), 105 * kMillisecond) << "at the switch";
  network.advance(99 * kMillisecond);
  EXPECT_EQ(network.next_for(1, 0), nullptr) << "an earlier frame may still come";
  network.advance(100 * kMillisecond);
  for (const lab::NodeId host : {1U, 2U}) {
    ASSERT_NE(network.next_for(host, 0), nullptr);
    EXPECT_EQ(network.take(host, 0).time, 110 * kMillisecond);
  }
  EXPECT_EQ(network.next_for(0, 0), nullptr);
  EXPECT_EQ(network.next(), INT64_MAX);
}

TEST(DirectorNetwork, FramesArriveInTheOrderOfTheirStampsHoweverTheyCome) {
  const lab::Topology topology = star();
  Network network(topology, 1, "");
  network.sent(1, 0, 12 * kMillisecond, frame(255, 2));
  network.sent(2, 0, 11 * kMillisecond, frame(255, 3));
  network.advance(12 * kMillisecond);
  EXPECT_EQ(network.take(0, 0).bytes[11], std::byte{3});
  EXPECT_EQ(network.take(0, 0).bytes[11], std::byte{2});
}

TEST(DirectorNetwork, ASwitchLearns) {
  const lab::Topology topology = star();
  Network network(topology, 1, "");
  network.sent(0, 0, 0, frame(255, 1));
  network.advance(0);
  network.sent(1, 0, kMillisecond, frame(1, 2));
  network.advance(kMillisecond);
  EXPECT_NE(network.next_for(0, 0), nullptr);
  network.take(2, 0);
  EXPECT_EQ(network.next_for(2, 0), nullptr) << "the frame for a is not for c";
}

TEST(DirectorNetwork, LossesAreCounted) {
  const lab::Topology topology = star("loss = 1.0");
  Network network(topology, 1, "");
  network.sent(0, 0, 0, frame(255, 1));
  EXPECT_EQ(network.counts(0).sent, 1u);
  EXPECT_EQ(network.counts(0).lost, 1u);
  EXPECT_EQ(network.next(), INT64_MAX);
}

TEST(DirectorNetwork, AFloodFillsALimitedAmountOfMemory) {
  const lab::Topology topology = star();
  Network network(topology, 1, "");
  for (int i = 0; i < 100'000; ++i) network.sent(0, 1, i, frame(255, 1, 1514));
  const auto& counts = network.counts(0);
  EXPECT_EQ(counts.sent, 100'000u);
  EXPECT_NEAR(double(counts.sent - counts.lost), double(Network::kMostBytes) / 1514, 1);
}

TEST(DirectorNetwork, HostileFrames) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  constexpr int kFrames = 100'000;
#else
  constexpr int kFrames = 1'000'000;
#endif
  const lab::Topology topology =
      star("rate = '1 Gbit/s'\nqueue = 10\ncorruption = 0.1\njitter = '3ms'");
  Network network(topology, 1, "");
  std::mt19937 random(1);
  std::uint64_t arrived = 0;
  for (int i = 0; i < kFrames; ++i) {
    const std::size_t bytes = random() % 8 == 0 ? random() % 65536 : random() % 80;
    std::vector<std::byte> bad(bytes);
    for (std::size_t k = 0; k < std::min<std::size_t>(bytes, 64); ++k) bad[k] = std::byte(random());
    const lab::NodeId from = random() % 4;
    // A clock that goes back must not confuse the network.
    const Nanoseconds at = i * 1'000 - static_cast<Nanoseconds>(random() % 100'000);
    network.sent(from, from == 0 ? random() % 2 : 0, at, std::move(bad));
    network.advance(i * 1'000);
    for (lab::NodeId host = 0; host < 4; ++host)
      while (network.next_for(host, 0) != nullptr && network.next_for(host, 0)->time < i * 1'000) {
        network.take(host, 0);
        ++arrived;
      }
  }
  EXPECT_GT(arrived, std::uint64_t(kFrames) / 10);
}

TEST(DirectorClocks, TheReaderSeesWholeClocks) {
  ClockBoard board;
  constexpr Nanoseconds kTicks = 20'000;
  std::thread writer([&] {
    for (Nanoseconds tick = 1; tick <= kTicks; ++tick) {
      Clocks& clocks = board.draft();
      clocks.at = clocks.system = tick;
      clocks.processors.assign(std::size_t(1 + tick % 5), {.consumed = tick});
      board.publish();
    }
  });
  Nanoseconds last = 0;
  while (last < kTicks) {
    if (!board.await_tick()) {
      const Clocks& clocks = board.newest();
      EXPECT_GE(clocks.at, last);
      EXPECT_EQ(clocks.at, clocks.system);
      EXPECT_EQ(clocks.processors.size(), std::size_t(1 + clocks.at % 5));
      for (const ProcessorClock& one : clocks.processors) EXPECT_EQ(one.consumed, clocks.at);
      last = clocks.at;
    }
  }
  writer.join();
}

TEST(DirectorClocks, OfMachinesBetweenTicks) {
  ClockBoard board;
  MachineClocks clocks(board, {11, 12}, {});
  clocks.refresh();
  EXPECT_FALSE(clocks.knows(0));
  Clocks& draft = board.draft();
  draft = {.at = 1'000, .system = 500, .processors = {}};
  draft.processors.push_back({.id = {.process = 11, .thread = 1},
                              .virtual_time = 700,
                              .weight = 2,
                              .is_runnable = true,
                              .has_turn = true});
  draft.processors.push_back({.id = {.process = 12, .thread = 2}, .virtual_time = 400});
  board.publish();
  clocks.refresh();
  EXPECT_TRUE(clocks.knows(0));
  EXPECT_FALSE(clocks.all_are_idle());
  EXPECT_EQ(clocks.exact(0), 700);
  EXPECT_EQ(clocks.exact(1), 500) << "an idle machine has the system's clock";
  EXPECT_EQ(clocks.earliest(0, 600, 1'010), 1'010);
  EXPECT_EQ(clocks.earliest(1, 501, 1'010), std::nullopt) << "a tick decides";
  const auto later = clocks.earliest(0, 1'000'700, 1'010);
  ASSERT_TRUE(later);
  EXPECT_GE(*later, 1'000 + 2'000'000) << "its weight is 2";
}

TEST(DirectorControl, AnswersLinesAndRefusesOthers) {
  const std::string folder = testing::TempDir() + "/orrery-control-" + std::to_string(getpid());
  std::filesystem::create_directories(folder);
  {
    ControlServer server(folder);
    std::atomic<bool> ends = false;
    std::thread serving([&] {
      while (!ends)
        server.serve([](std::span<const ControlWord> words) -> std::string {
          if (words.size() == 1 && words[0].name == "bad") throw UsageError("it is bad");
          return std::to_string(words.size()) + words[0].name + words[0].value;
        });
    });
    EXPECT_EQ(ask_director(folder, std::vector<std::string>{"tick=1ms", "status"}), "2tick1ms");
    EXPECT_THROW(ask_director(folder, std::vector<std::string>{"bad"}), UsageError);
    EXPECT_THROW(ask_director(folder, std::vector<std::string>{std::string(10'000, 'x')}),
                 UsageError);
    ends = true;
    serving.join();
  }
  EXPECT_THROW(ask_director(folder, std::vector<std::string>{"status"}), UsageError)
      << "it has ended";
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace orrery::director
