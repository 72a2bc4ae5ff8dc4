// SPDX-License-Identifier: Apache-2.0
//
// What ranks talk through, on wires within this process, with an adversary that delays streams, and
// through shared memory: parcels arrive whole and in order, credits bound what is on the way and
// come back, collectives give the same to all, and a rank that goes is missed.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "sanitizers.h"
#include "transport/ranks/bytes.h"
#include "transport/ranks/local_wire.h"
#include "transport/ranks/memory_wire.h"
#include "transport/ranks/rank_transport.h"
#include "transport/ranks/shared_rings.h"

namespace orrery::transport {
namespace {

using Wires = std::vector<std::unique_ptr<Wire>>;
using Body = std::function<void(RankTransport&)>;

/// One thread a rank.
void run_ranks(Wires wires, const Body& body, std::size_t credit = RankTransport::kCreditBytes) {
  std::vector<std::thread> threads;
  for (auto& wire : wires) {
    threads.emplace_back([&] {
      RankTransport transport(std::move(wire), credit);
      body(transport);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

Wires local_wires(unsigned ranks) {
  std::vector<std::vector<int>> sockets(ranks, std::vector<int>(ranks, -1));
  for (unsigned a = 0; a < ranks; ++a)
    for (unsigned b = a + 1; b < ranks; ++b) {
      int pair[2];
      EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
      sockets[a][b] = pair[0];
      sockets[b][a] = pair[1];
    }
  const int memory = SharedRings::create(ranks);
  EXPECT_GE(memory, 0);
  Wires wires;
  for (unsigned rank = 0; rank < ranks; ++rank)
    wires.push_back(make_local_wire(rank, dup(memory), sockets[rank]));
  close(memory);
  return wires;
}

/// Runs `body` on all ranks of several kinds of wires.
void on_all_wires(const Body& body, std::size_t credit = RankTransport::kCreditBytes) {
  for (const unsigned ranks : {1u, 2u, 3u, 7u}) {
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
      SCOPED_TRACE(std::to_string(ranks) + " ranks, seed " + std::to_string(seed));
      MemoryFabric fabric(ranks, {.seed = seed, .delays = seed > 0});
      Wires wires;
      for (unsigned rank = 0; rank < ranks; ++rank) wires.push_back(fabric.wire(rank));
      run_ranks(std::move(wires), body, credit);
    }
    SCOPED_TRACE(std::to_string(ranks) + " ranks through shared memory");
    run_ranks(local_wires(ranks), body, credit);
  }
}

/// A parcel whose bytes say where in its stream it stands.
Parcel numbered(unsigned from, std::uint64_t number, std::size_t bytes) {
  Parcel parcel;
  for (const std::uint64_t word : {std::uint64_t{from}, number}) parcel.append(&word, sizeof word);
  std::byte* const rest = parcel.extend(bytes);
  for (std::size_t i = 0; i < bytes; ++i) rest[i] = static_cast<std::byte>(number + i);
  parcel.head().word = static_cast<std::uint32_t>(bytes);
  return parcel;
}

void expect_numbered(const Parcel& parcel, unsigned from, std::uint64_t number) {
  ByteReader reader(parcel);
  ASSERT_EQ(reader.get<std::uint64_t>(), from);
  ASSERT_EQ(reader.get<std::uint64_t>(), number);
  ASSERT_EQ(parcel.size(), 16 + parcel.head().word);
  for (std::size_t i = 0; i < parcel.head().word; ++i)
    ASSERT_EQ(parcel.data()[16 + i], static_cast<std::byte>(number + i)) << i;
}

std::size_t size_of(std::uint64_t number) {
  return number % 50 == 49 ? 300'000 : number * 37 % 600;
}

TEST(Ranks, ParcelsComeWholeAndInOrder) {
  on_all_wires([](RankTransport& transport) {
    constexpr std::uint64_t kParcels = testing::kSanitizers ? 100 : 300;
    std::vector<std::uint64_t> got(transport.ranks());
    {
      const std::lock_guard lock(transport.mutex());
      transport.receive_with(Lane::events, [&](unsigned from, Parcel parcel) {
        expect_numbered(parcel, from, got[from]++);
        transport.give_back(from, Lane::events, parcel.image_bytes());
      });
    }
    for (std::uint64_t i = 0; i < kParcels; ++i) {
      for (unsigned to = 0; to < transport.ranks(); ++to)
        if (to != transport.rank())
          transport.post(to, Lane::events, numbered(transport.rank(), i, size_of(i)));
      transport.try_progress();
    }
    transport.wait_until([&] {
      return std::accumulate(got.begin(), got.end(), std::uint64_t{0}) ==
             kParcels * (transport.ranks() - 1);
    });
    transport.part();
  });
}

/// Nobody takes anything for a while: no more than the credit leaves, a larger one goes alone, and
/// all of it arrives once it is given back.
TEST(Ranks, CreditBoundsWhatIsOnTheWay) {
  MemoryFabric fabric(2);
  constexpr std::size_t kCredit = 10'000;
  Wires wires;
  for (unsigned rank = 0; rank < 2; ++rank) wires.push_back(fabric.wire(rank));
  run_ranks(
      std::move(wires),
      [](RankTransport& transport) {
        if (transport.rank() == 0) {
          for (std::uint64_t i = 0; i < 100; ++i) {
            const std::lock_guard lock(transport.mutex());
            transport.send(1, Lane::events, numbered(0, i, i == 50 ? 5 * kCredit : 968));
          }
          EXPECT_TRUE(transport.is_short_of_credit(1, Lane::events));
          EXPECT_EQ(transport.waiting(1, Lane::events), 89u * 1000 + 5 * kCredit + 32);
          EXPECT_FALSE(transport.is_short_of_credit(1, Lane::rows)) << "lanes have their own";
          transport.gather_everywhere({});
          transport.wait_until([&] { return !transport.is_short_of_credit(1, Lane::events); });
        } else {
          transport.gather_everywhere({});
          std::uint64_t got = 0;
          {
            const std::lock_guard lock(transport.mutex());
            transport.receive_with(Lane::events, [&](unsigned from, Parcel parcel) {
              expect_numbered(parcel, 0, got++);
              transport.give_back(from, Lane::events, parcel.image_bytes());
            });
            EXPECT_EQ(got, 10u) << "kept until somebody takes them";
          }
          transport.wait_until([&] { return got == 100; });
        }
        transport.part();
      },
      kCredit);
}

TEST(Ranks, SmallCreditDelaysAndLosesNothing) {
  on_all_wires(
      [](RankTransport& transport) {
        std::uint64_t got = 0;
        {
          const std::lock_guard lock(transport.mutex());
          transport.receive_with(Lane::rows, [&](unsigned from, Parcel parcel) {
            transport.give_back(from, Lane::rows, parcel.image_bytes());
            ++got;
          });
        }
        const unsigned to = (transport.rank() + 1) % transport.ranks();
        if (to != transport.rank())
          for (std::uint64_t i = 0; i < 200; ++i)
            transport.post(to, Lane::rows, numbered(transport.rank(), i, i % 90));
        transport.wait_until([&] { return got == (to == transport.rank() ? 0u : 200u); });
        transport.part();
      },
      256);
}

TEST(Ranks, ReductionsGiveAllTheSame) {
  on_all_wires([](RankTransport& transport) {
    // A sum, a minimum, a maximum.
    Reduction reduction(transport, 3, [](std::uint64_t* sum, const std::uint64_t* one) {
      sum[0] += one[0];
      sum[1] = std::min(sum[1], one[1]);
      sum[2] = std::max(sum[2], one[2]);
    });
    const std::uint64_t ranks = transport.ranks();
    for (std::uint64_t n = 0; n < 50; ++n) {
      {
        const std::lock_guard lock(transport.mutex());
        const std::uint64_t own = n + transport.rank();
        reduction.contribute(std::vector<std::uint64_t>{own, own, own});
      }
      transport.wait_until([&] { return reduction.is_done(); });
      const std::vector<std::uint64_t> expected = {ranks * n + ranks * (ranks - 1) / 2, n,
                                                   n + ranks - 1};
      ASSERT_EQ(reduction.result(), expected);
    }
    transport.part();
  });
}

/// One after the other, also where a rank is far ahead of another in making them.
TEST(Ranks, ReductionsDoNotMix) {
  on_all_wires([](RankTransport& transport) {
    for (std::uint64_t n = 0; n < 20; ++n) {
      Reduction one(transport, 1,
                    [](std::uint64_t* sum, const std::uint64_t* other) { sum[0] += other[0]; });
      {
        const std::lock_guard lock(transport.mutex());
        one.contribute(std::vector<std::uint64_t>{n});
      }
      transport.wait_until([&] { return one.is_done(); });
      ASSERT_EQ(one.result()[0], n * transport.ranks());
    }
    transport.part();
  });
}

TEST(Ranks, GatherKeepsTheOrderOfRanks) {
  on_all_wires([](RankTransport& transport) {
    for (int n = 0; n < 10; ++n) {
      const auto own = [&] {
        ByteWriter writer;
        writer.put(std::string(100 * transport.rank(), 'x')).put(n);
        return writer.take();
      };
      const std::vector<Parcel> everywhere = transport.gather_everywhere(own());
      const std::vector<Parcel> here = transport.gather(own());
      ASSERT_EQ(everywhere.size(), transport.ranks());
      ASSERT_EQ(here.size(), transport.rank() == 0 ? transport.ranks() : 0);
      for (const std::vector<Parcel>* all : {&everywhere, &here}) {
        for (std::size_t rank = 0; rank < all->size(); ++rank) {
          ByteReader reader((*all)[rank]);
          ASSERT_EQ(reader.get_text(), std::string(100 * rank, 'x'));
          ASSERT_EQ(reader.get<int>(), n);
          ASSERT_TRUE(reader.at_end());
        }
      }
    }
    EXPECT_EQ(transport.ranks_on_host(), transport.ranks());
    EXPECT_EQ(transport.index_on_host(), transport.rank());
    EXPECT_NE(transport.place(0).find("rank 0 on host "), std::string::npos);
    transport.part();
  });
}

TEST(Ranks, WhoReadsTooMuchIsTold) {
  ByteWriter writer;
  writer.put(std::uint64_t{1000});
  const Parcel parcel = writer.take();
  EXPECT_THROW(ByteReader(parcel).get_text(), std::logic_error);
  EXPECT_THROW(ByteReader(parcel).get_list<int>(), std::logic_error);
}

/// A rank goes in the middle of it: those that wait for it are told which.
TEST(Ranks, ALostRankIsMissed) {
  const auto body = [](RankTransport& transport) {
    if (transport.rank() == 1) return;
    try {
      transport.wait_until([] { return false; });
      ADD_FAILURE() << "nobody missed it";
    } catch (const RankLost& lost) {
      EXPECT_EQ(lost.rank(), 1u);
      EXPECT_NE(std::string(lost.what()).find("rank 1 "), std::string::npos);
    }
  };
  MemoryFabric fabric(2);
  Wires wires;
  for (unsigned rank = 0; rank < 2; ++rank) wires.push_back(fabric.wire(rank));
  run_ranks(std::move(wires), body);
  run_ranks(local_wires(2), body);
}

/// What comes around the end of a ring is in two pieces; what finds no room is not taken.
TEST(SharedRings, TakeWhatThereIsRoomFor) {
  const int memory = SharedRings::create(64);
  const SharedRings here(memory, 64), there(memory, 64);
  close(memory);
  RingWriter writer = here.writer(3, 62);
  RingReader reader = there.reader(3, 62);
  std::vector<std::byte> bytes(20'000);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 7);
  std::size_t sent = 0, got = 0;
  const auto take = [&](const std::byte* from, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i, ++got)
      ASSERT_EQ(from[i], bytes[got % bytes.size()]) << got;
  };
  EXPECT_FALSE(reader.read(take));
  for (int round = 0; round < 30; ++round) {
    std::size_t taken = 1;
    while (taken > 0) {
      taken = writer.write(std::span(bytes).subspan(sent % bytes.size()));
      sent += taken;
    }
    EXPECT_EQ(sent - got, 32u << 10) << "it is full";
    EXPECT_FALSE(reader.read(take)) << "not published yet";
    writer.publish();
    EXPECT_TRUE(reader.read(take));
    EXPECT_EQ(got, sent);
  }
  EXPECT_FALSE(here.reader(62, 3).read(take)) << "the way back is another ring";
}

/// Each number is waited for, awake or asleep: nobody sleeps through one.
TEST(SharedRings, NobodySleepsThroughWhatComes) {
  const int memory = SharedRings::create(2);
  const SharedRings rings(memory, 2);
  close(memory);
  constexpr int kRounds = 3'000;
  std::atomic<int> wakes[2] = {0, 0};
  const auto play = [&](unsigned rank) {
    RingWriter writer = rings.writer(rank, 1 - rank);
    RingReader reader = rings.reader(1 - rank, rank);
    int got = 0;  // the other one may be a round ahead
    for (int round = 0; round < kRounds; ++round) {
      const std::byte one{static_cast<unsigned char>(round)};
      EXPECT_EQ(writer.write({&one, 1}), 1u);
      writer.publish();
      if (writer.finds_sleeper()) wakes[1 - rank].fetch_add(1, std::memory_order_release);
      const auto take = [&](const std::byte* from, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i, ++got)
          EXPECT_EQ(from[i], std::byte{static_cast<unsigned char>(got)});
      };
      while (got <= round) {
        if (reader.read(take) || !reader.may_sleep()) continue;
        while (wakes[rank].load(std::memory_order_acquire) == 0) std::this_thread::yield();
        wakes[rank].fetch_sub(1, std::memory_order_relaxed);
      }
      reader.wake();
    }
  };
  std::thread other(play, 1);
  play(0);
  other.join();
}

/// Several threads of a rank post and make progress at the same time.
TEST(Ranks, ThreadsShareATransport) {
  constexpr unsigned kThreads = 3;
  constexpr std::uint64_t kParcels = 400;
  on_all_wires([](RankTransport& transport) {
    // By rank and thread: each stream is in order.
    std::vector<std::uint64_t> got(std::size_t{transport.ranks()} * kThreads);
    std::atomic<std::uint64_t> left{kParcels * kThreads * (transport.ranks() - 1)};
    {
      const std::lock_guard lock(transport.mutex());
      transport.receive_with(Lane::events, [&](unsigned from, Parcel parcel) {
        const unsigned thread = parcel.head().kind;
        expect_numbered(parcel, from, got[from * kThreads + thread]++);
        transport.give_back(from, Lane::events, parcel.image_bytes());
        left.fetch_sub(1, std::memory_order_relaxed);
      });
    }
    const auto work = [&](unsigned thread) {
      for (std::uint64_t i = 0; i < kParcels; ++i) {
        for (unsigned to = 0; to < transport.ranks(); ++to) {
          if (to == transport.rank()) continue;
          Parcel parcel = numbered(transport.rank(), i, i % 64);
          parcel.head().kind = static_cast<std::uint8_t>(thread);
          transport.post(to, Lane::events, std::move(parcel));
        }
        if (i % 8 == 0) transport.try_progress();
      }
      while (left.load(std::memory_order_relaxed) > 0)
        if (!transport.try_progress()) std::this_thread::yield();
    };
    std::vector<std::thread> threads;
    for (unsigned thread = 0; thread < kThreads; ++thread) threads.emplace_back(work, thread);
    for (std::thread& thread : threads) thread.join();
    transport.part();
  });
}

}  // namespace
}  // namespace orrery::transport
