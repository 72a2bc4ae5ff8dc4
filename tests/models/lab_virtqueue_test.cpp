// SPDX-License-Identifier: Apache-2.0
//
// Queues of a guest's network devices: what a driver does, and what only a hostile one does, which
// must end in an error of the guest's and touch nothing outside of its memory (the address
// sanitizer sees the latter).
#include "../../models/lab/uml/virtqueue.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "../../models/lab/guest_error.h"
#include "lab_guest_memory.h"

namespace orrery::lab::testing {
namespace {

constexpr std::uint16_t kNext = 1, kWrite = 2, kIndirect = 4;
constexpr std::uint64_t kQueue = FakeMemory::kAddress, kBuffers = FakeMemory::kAddress + 0x10000;

class LabVirtqueue : public ::testing::Test {
 protected:
  LabVirtqueue() {
    mapped_.add({FakeMemory::kAddress, FakeMemory::kBytes, 0}, memory_.file());
    queue_.set_entries(FakeMemory::kEntries);
    queue_.set_addresses(driver_.addresses());
    queue_.enable(true);
  }
  FakeMemory memory_;
  FakeQueue driver_{memory_, kQueue};
  GuestMemory mapped_;
  Virtqueue queue_{mapped_};
};

TEST_F(LabVirtqueue, TakesChainsInOrderAndGivesThemBack) {
  EXPECT_EQ(queue_.pop(), nullptr);
  for (std::uint16_t round = 0; round < 3 * FakeMemory::kEntries; ++round) {
    const std::uint16_t head = round % 3;
    driver_.describe(head, kBuffers + 64 * round, 10, kNext, 7);
    driver_.describe(7, kBuffers + 0x8000, 20, kWrite);
    memory_.put(kBuffers + 64 * round, round);
    driver_.offer(head);
    const Virtqueue::Chain* const chain = queue_.pop();
    ASSERT_NE(chain, nullptr);
    EXPECT_EQ(chain->head, head);
    ASSERT_EQ(chain->parts.size(), 2u);
    EXPECT_EQ(chain->parts[0].bytes, 10u);
    EXPECT_FALSE(chain->parts[0].writable);
    EXPECT_TRUE(chain->parts[1].writable);
    std::uint16_t seen = 0;
    std::memcpy(&seen, chain->parts[0].data, sizeof seen);
    EXPECT_EQ(seen, round);
    EXPECT_EQ(queue_.pop(), nullptr);
    queue_.push(head, 5);
    EXPECT_EQ(driver_.used(), round + 1);
    EXPECT_EQ(driver_.used_at(round), (std::array<std::uint32_t, 2>{head, 5}));
  }
}

TEST_F(LabVirtqueue, AsksWhetherTheGuestWantsToHearOfIt) {
  EXPECT_TRUE(queue_.wants_interrupt());
  driver_.set_flags(1);
  EXPECT_FALSE(queue_.wants_interrupt());
}

TEST_F(LabVirtqueue, HearsFromWhichIndexOnTheGuestWantsToHear) {
  constexpr std::uint64_t kUsedEvent = kQueue + 0x404 + 2 * FakeMemory::kEntries;
  constexpr std::uint64_t kAvailableEvent = kQueue + 0x804 + 8 * FakeMemory::kEntries;
  queue_.use_event_index(true);
  queue_.set_addresses(driver_.addresses());
  driver_.set_flags(1);  // means nothing then
  memory_.put(kUsedEvent, std::uint16_t{2});
  for (const bool expected : {false, false, true, false, false}) {
    queue_.push(0, 0);
    EXPECT_EQ(queue_.wants_interrupt(), expected);
  }
  memory_.put(kUsedEvent, std::uint16_t{6});
  for (int i = 0; i < 4; ++i) queue_.push(0, 0);
  EXPECT_TRUE(queue_.wants_interrupt()) << "it has passed";
  EXPECT_FALSE(queue_.wants_interrupt()) << "it was told";
  driver_.describe(0, kBuffers, 10, 0);
  for (std::uint16_t taken = 1; taken <= 3; ++taken) {
    driver_.offer(0);
    EXPECT_NE(queue_.pop(), nullptr);
    queue_.want_notice();
    EXPECT_EQ(memory_.get<std::uint16_t>(kAvailableEvent), taken);
  }
}

TEST_F(LabVirtqueue, GivesNothingUntilItIsReady) {
  driver_.describe(0, kBuffers, 10, 0);
  driver_.offer(0);
  queue_.enable(false);
  EXPECT_EQ(queue_.pop(), nullptr);
  queue_.enable(true);
  EXPECT_NE(queue_.pop(), nullptr);
  queue_.reset();
  EXPECT_EQ(queue_.pop(), nullptr);
}

TEST_F(LabVirtqueue, RefusesWhatOnlyAHostileGuestDoes) {
  const auto outside = FakeMemory::kAddress + FakeMemory::kBytes;
  struct Case {
    const char* what;
    std::function<void()> prepare;
  };
  const Case cases[] = {
      {"a head out of the table", [&] { driver_.offer(FakeMemory::kEntries); }},
      {"a chain that leads out of it",
       [&] {
         driver_.describe(0, kBuffers, 1, kNext, FakeMemory::kEntries);
         driver_.offer(0);
       }},
      {"a loop",
       [&] {
         driver_.describe(0, kBuffers, 1, kNext, 1);
         driver_.describe(1, kBuffers, 1, kNext, 0);
         driver_.offer(0);
       }},
      {"a buffer behind its memory",
       [&] {
         driver_.describe(0, outside - 10, 11, 0);
         driver_.offer(0);
       }},
      {"a buffer before its memory",
       [&] {
         driver_.describe(0, FakeMemory::kAddress - 1, 2, 0);
         driver_.offer(0);
       }},
      {"an address that overflows",
       [&] {
         driver_.describe(0, ~std::uint64_t{0}, 2, 0);
         driver_.offer(0);
       }},
      {"more than any frame",
       [&] {
         driver_.describe(0, kBuffers, Virtqueue::kMostBytes + 1, 0);
         driver_.offer(0);
       }},
      {"an indirect chain",
       [&] {
         driver_.describe(0, kBuffers, 16, kIndirect);
         driver_.offer(0);
       }},
      {"an index that jumps", [&] { driver_.set_index(FakeMemory::kEntries + 1); }},
  };
  for (const Case& one : cases) {
    driver_ = FakeQueue(memory_, kQueue);
    driver_.set_index(0);
    queue_.set_addresses(driver_.addresses());
    one.prepare();
    EXPECT_THROW(queue_.pop(), GuestError) << one.what;
  }
}

TEST_F(LabVirtqueue, RefusesTablesThatCannotBe) {
  for (const std::uint32_t entries : {0u, 3u, 65536u})
    EXPECT_THROW(queue_.set_entries(entries), GuestError);
  Virtqueue other{mapped_};
  EXPECT_THROW(other.set_addresses(driver_.addresses()), GuestError) << "before it has a length";
  for (const std::uint64_t wrong : {std::uint64_t{0}, FakeMemory::kAddress + FakeMemory::kBytes - 8,
                                    ~std::uint64_t{0} - 8, kQueue + 1}) {
    Virtqueue::Addresses addresses = driver_.addresses();
    addresses.descriptors = wrong;
    EXPECT_THROW(queue_.set_addresses(addresses), GuestError);
    addresses = driver_.addresses();
    addresses.used = wrong;
    EXPECT_THROW(queue_.set_addresses(addresses), GuestError);
  }
}

/// Whatever lies in the tables: an error, or chains within the memory.
TEST_F(LabVirtqueue, SurvivesRandomTables) {
  std::mt19937_64 random(7);
  std::uint64_t chains = 0, errors = 0;
  for (int round = 0; round < 20'000; ++round) {
    for (std::uint16_t i = 0; i < FakeMemory::kEntries; ++i)
      driver_.describe(i, kBuffers + random() % (2 * FakeMemory::kBytes),
                       static_cast<std::uint32_t>(random() % 40'000),
                       static_cast<std::uint16_t>(random() % (round % 3 == 0 ? 8 : 4)),
                       static_cast<std::uint16_t>(random() % (FakeMemory::kEntries + 1)));
    driver_ = FakeQueue(memory_, kQueue);
    queue_.set_addresses(driver_.addresses());
    driver_.offer(static_cast<std::uint16_t>(random() % FakeMemory::kEntries));
    try {
      const Virtqueue::Chain* const chain = queue_.pop();
      ASSERT_NE(chain, nullptr);
      for (const Virtqueue::Part& part : chain->parts)
        if (part.bytes > 0) part.data[0] = part.data[part.bytes - 1];
      ++chains;
    } catch (const GuestError&) {
      ++errors;
    }
  }
  EXPECT_GT(chains, 100u);
  EXPECT_GT(errors, 100u);
}

/// What was taken belongs to tables that are gone: nothing may be written where they were.
TEST_F(LabVirtqueue, GivesNothingBackToTablesThatAreGone) {
  driver_.describe(0, kBuffers, 10, 0);
  driver_.offer(0);
  ASSERT_NE(queue_.pop(), nullptr);
  const std::uint16_t generation = queue_.generation();
  mapped_.clear();
  queue_.reset();
  queue_.push(0, 0);
  EXPECT_FALSE(queue_.ready());
  queue_.set_entries(FakeMemory::kEntries);
  queue_.push(0, 0);
  EXPECT_NE(queue_.generation(), generation);
  EXPECT_THROW(queue_.set_addresses(driver_.addresses()), GuestError) << "there is no memory";
  queue_.push(0, 0);
  EXPECT_EQ(driver_.used(), 0);
}

/// The index that the device tells lies behind the table, whether it is used yet or not.
TEST_F(LabVirtqueue, RefusesTablesThatEndTooSoon) {
  auto addresses = driver_.addresses();
  addresses.used = FakeMemory::kAddress + FakeMemory::kBytes - 4 - 8 * FakeMemory::kEntries;
  EXPECT_THROW(queue_.set_addresses(addresses), GuestError);
  addresses = driver_.addresses();
  addresses.available = FakeMemory::kAddress + FakeMemory::kBytes - 4 - 2 * FakeMemory::kEntries;
  EXPECT_THROW(queue_.set_addresses(addresses), GuestError);
}

TEST_F(LabVirtqueue, LendsNoMoreThanItHas) {
  driver_.describe(0, kBuffers, 10, 0);
  for (std::uint32_t i = 0; i < FakeMemory::kEntries; ++i) {
    driver_.offer(0);
    ASSERT_NE(queue_.pop(), nullptr);
  }
  driver_.offer(0);
  EXPECT_THROW(queue_.pop(), GuestError);
  queue_.push(0, 0);
  EXPECT_NE(queue_.pop(), nullptr);
}

TEST(LabGuestMemory, RefusesMoreThanTheFileHas) {
  const FakeMemory memory;
  GuestMemory mapped;
  EXPECT_THROW(mapped.add({0, FakeMemory::kBytes + 1, 0}, memory.file()), GuestError);
  EXPECT_THROW(mapped.add({0, 8, FakeMemory::kBytes}, memory.file()), GuestError);
  EXPECT_THROW(mapped.add({0, 0, 0}, memory.file()), GuestError);
  EXPECT_THROW(mapped.add({~std::uint64_t{0}, 4096, 0}, memory.file()), GuestError);
  EXPECT_THROW(mapped.add({0, 4096, 0}, File()), GuestError);
  mapped.add({0x1000, 100, 50}, memory.file());
  memory.put(FakeMemory::kAddress + 50, std::uint8_t{42});
  ASSERT_NE(mapped.at(0x1000, 100), nullptr);
  EXPECT_EQ(*mapped.at(0x1000, 1), std::byte{42});
  EXPECT_EQ(mapped.at(0x1000, 101), nullptr);
  EXPECT_EQ(mapped.at(0x0fff, 1), nullptr);
  EXPECT_NE(mapped.at(0x1063, 1), nullptr);
  EXPECT_EQ(mapped.at(0x1064, 1), nullptr);
}

/// Reading what a guest has taken away would be the end of the run.
TEST(LabGuestMemory, RefusesWhatItsOwnerCouldTakeAway) {
  GuestMemory mapped;
  for (const int seals : {0, F_SEAL_SHRINK, F_SEAL_GROW}) {
    const FakeMemory memory(seals);
    EXPECT_THROW(mapped.add({0, 4096, 0}, memory.file()), GuestError) << seals;
  }
  const File no_memory(open("/dev/null", O_RDWR | O_CLOEXEC));
  EXPECT_THROW(mapped.add({0, 4096, 0}, no_memory), GuestError);
}

/// A guest could give any number of files of its size otherwise.
TEST(LabGuestMemory, RefusesASecondFile) {
  const FakeMemory first, second;
  GuestMemory mapped;
  mapped.add({0, 4096, 0}, first.file());
  mapped.add({4096, 4096, 4096}, first.file());
  EXPECT_THROW(mapped.add({8192, 4096, 0}, second.file()), GuestError);
  mapped.clear();
  EXPECT_THROW(mapped.add({0, 4096, 0}, second.file()), GuestError);
  mapped.add({0, 4096, 0}, first.file());
}

}  // namespace
}  // namespace orrery::lab::testing
