// SPDX-License-Identifier: Apache-2.0
//
// The two protocols of a guest, against the bytes that a User Mode Linux sends: its network device
// (vhost-user) and its time (linux/um_timetravel.h). The test plays the guest.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "../../models/lab/guest_error.h"
#include "../../models/lab/uml/calendar.h"
#include "../../models/lab/uml/kernel/lab_shared.h"
#include "../../models/lab/uml/network_device.h"
#include "lab_guest_memory.h"

namespace orrery::lab::testing {
namespace {

struct Pair {
  File ours, guests;
  Pair() {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) std::abort();
    ours = File(ends[0]);
    guests = File(ends[1]);
  }
};

std::vector<std::byte> bytes_of(std::initializer_list<unsigned> values) {
  std::vector<std::byte> bytes;
  for (const unsigned value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

template <class... Values>
std::vector<std::byte> packed(const Values&... values) {
  std::vector<std::byte> bytes;
  const auto add = [&bytes](const auto& value) {
    const std::size_t at = bytes.size();
    bytes.resize(at + sizeof value);
    std::memcpy(bytes.data() + at, &value, sizeof value);
  };
  (add(values), ...);
  return bytes;
}

class LabDevice : public ::testing::Test, protected NetworkDevice::Port {
 protected:
  static constexpr std::uint64_t kReceive = FakeMemory::kAddress,
                                 kSend = FakeMemory::kAddress + 0x1000,
                                 kBuffers = FakeMemory::kAddress + 0x10000;
  LabDevice() {
    Pair pair;
    guest_ = Channel(std::move(pair.guests));
    device_.attach(std::move(pair.ours));
  }
  void sent(std::span<const std::byte> frame, std::uint32_t token) override {
    sent_.emplace_back(frame.begin(), frame.end());
    device_.done(token);
  }

  /// A request as the driver writes it; what comes back behind its header.
  std::vector<std::byte> ask(std::uint32_t request, const std::vector<std::byte>& payload,
                             std::size_t answer_bytes, std::span<const int> files = {},
                             std::uint32_t flags = 1) {
    std::vector<std::byte> message =
        packed(request, flags, static_cast<std::uint32_t>(payload.size()));
    message.insert(message.end(), payload.begin(), payload.end());
    guest_.send(message, files);
    device_.receive();
    if (answer_bytes == 0) return {};
    std::vector<std::byte> answer(12 + answer_bytes);
    guest_.receive(answer);
    EXPECT_EQ(std::vector(answer.begin(), answer.begin() + 12),
              packed(request, 5u, static_cast<std::uint32_t>(answer_bytes)));
    return {answer.begin() + 12, answer.end()};
  }
  void order(std::uint32_t request, const std::vector<std::byte>& payload,
             std::span<const int> files = {}) {
    EXPECT_EQ(ask(request, payload, 8, files, 9), packed(std::uint64_t{0}));
  }
  /// What the driver does when it finds the device.
  void set_up() {
    order(3, {});
    EXPECT_EQ(ask(1, {}, 8), packed(std::uint64_t{0x160010028}));
    EXPECT_EQ(ask(15, {}, 8), packed(std::uint64_t{0x4228}));
    order(16, packed(std::uint64_t{0x4228}));
    Pair interrupts;
    const std::array files{interrupts.ours.get()};
    order(21, {}, files);
    interrupts_ = Channel(std::move(interrupts.guests));
    order(2, packed(std::uint64_t{0x140010020}));
    const std::array memory{memory_.file().get()};
    order(5,
          packed(1u, 0u, FakeMemory::kAddress, FakeMemory::kBytes, FakeMemory::kAddress,
                 std::uint64_t{0}),
          memory);
    for (const std::uint32_t queue : {0u, 1u}) {
      order(8, packed(queue, FakeMemory::kEntries));
      order(10, packed(queue, 0u));
      const auto at = (queue == 0 ? receive_ : send_).addresses();
      order(9, packed(queue, 0u, at.descriptors, at.used, at.available, ~std::uint64_t{0}));
      order(18, packed(queue, 1u));
    }
  }

  FakeMemory memory_;
  FakeQueue receive_{memory_, kReceive}, send_{memory_, kSend};
  NetworkDevice device_{{2, 0, 0, 0, 1, 7}, 1500, *this};
  Channel guest_, interrupts_;
  std::vector<std::vector<std::byte>> sent_;
};

TEST_F(LabDevice, TellsItsAddress) {
  set_up();
  const auto config = ask(24, packed(0u, 6u, 0u, std::uint32_t{0}, std::uint16_t{0}), 18);
  EXPECT_EQ(std::vector(config.begin() + 12, config.end()), bytes_of({2, 0, 0, 0, 1, 7}));
}

TEST_F(LabDevice, TellsItsLongestPacket) {
  set_up();
  const auto config = ask(24, packed(10u, 2u, 0u, std::uint16_t{0}), 14);
  EXPECT_EQ(std::vector(config.begin() + 12, config.end()), bytes_of({1500 & 255, 1500 >> 8}));
}

TEST_F(LabDevice, TellsWhetherItsLinkIsUp) {
  set_up();
  const auto status = [this] {
    const auto config = ask(24, packed(6u, 2u, 0u, std::uint16_t{0}), 14);
    return std::vector(config.begin() + 12, config.end());
  };
  EXPECT_EQ(status(), bytes_of({1, 0}));
  EXPECT_FALSE(device_.set_carrier(true)) << "as before";
  ASSERT_TRUE(device_.set_carrier(false));
  EXPECT_EQ(status(), bytes_of({0, 0}));
  device_.tell_of_carrier();
  std::array<std::byte, 12> told;
  interrupts_.receive(told);
  EXPECT_EQ(std::vector(told.begin(), told.end()), packed(2u, 9u, 0u));
  interrupts_.send(packed(2u, 5u, 8u, std::uint64_t{0}));
  device_.receive_answer();
  const auto beyond = ask(24, packed(0xffffffffu, 4u, 0u, 0u), 16);
  EXPECT_EQ(std::vector(beyond.begin() + 12, beyond.end()), bytes_of({0, 0, 0, 0}));
}

TEST_F(LabDevice, SendsFramesOfSeveralBuffers) {
  set_up();
  const auto header = std::vector<std::byte>(12);
  std::memcpy(memory_.at(kBuffers), header.data(), 12);
  const auto frame = bytes_of({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16});
  std::memcpy(memory_.at(kBuffers + 100), frame.data(), 10);
  std::memcpy(memory_.at(kBuffers + 200), frame.data() + 10, 6);
  send_.describe(0, kBuffers, 12, 1, 1);
  send_.describe(1, kBuffers + 100, 10, 1, 2);
  send_.describe(2, kBuffers + 200, 6, 0);
  send_.offer(0);
  order(35, packed(1u, 0u));
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0], frame);
  EXPECT_EQ(send_.used(), 1);
}

TEST_F(LabDevice, DeliversFramesAndInterrupts) {
  set_up();
  const auto frame = bytes_of({9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 1, 2, 3, 4});
  EXPECT_FALSE(device_.deliver(frame)) << "without a buffer";
  receive_.describe(3, kBuffers, 20, 3, 4);
  receive_.describe(4, kBuffers + 0x100, 1500, 2);
  receive_.offer(3);
  ASSERT_TRUE(device_.deliver(frame));
  EXPECT_EQ(receive_.used(), 1);
  EXPECT_EQ(receive_.used_at(0), (std::array<std::uint32_t, 2>{3, 26}));
  EXPECT_EQ(memory_.get<std::uint16_t>(kBuffers + 10), 1) << "in one buffer";
  EXPECT_EQ(std::memcmp(memory_.at(kBuffers + 12), frame.data(), 8), 0);
  EXPECT_EQ(std::memcmp(memory_.at(kBuffers + 0x100), frame.data() + 8, 6), 0);
  ASSERT_TRUE(device_.wants_interrupt(0));
  device_.interrupt(0);
  std::array<std::byte, 20> call;
  interrupts_.receive(call);
  EXPECT_EQ(std::vector(call.begin(), call.end()), packed(4u, 9u, 8u, 0u, 0u));
  interrupts_.send(packed(4u, 5u, 8u, std::uint64_t{0}));
  device_.receive_answer();
  receive_.set_flags(1);
  EXPECT_FALSE(device_.wants_interrupt(0)) << "it does not want to hear of it";
}

TEST_F(LabDevice, RefusesWhatNoDriverSends) {
  set_up();
  EXPECT_THROW(ask(99, {}, 0), GuestError);
  EXPECT_THROW(ask(8, packed(2u, 8u), 0), GuestError) << "a third queue";
  EXPECT_THROW(ask(8, packed(0u), 0), GuestError) << "half a payload";
  EXPECT_THROW(ask(5, packed(2u, 0u), 0), GuestError) << "memory without files";
  EXPECT_THROW(ask(21, {}, 0), GuestError);
  EXPECT_THROW(ask(24, packed(0u, 300u, 0u), 0), GuestError);
  guest_.send(packed(1u, 1u, 100'000u));
  EXPECT_THROW(device_.receive(), GuestError) << "a payload longer than any";
}

TEST_F(LabDevice, PassesFramesOfAnyLengthOn) {
  set_up();
  send_.describe(0, kBuffers, 12 + 4000, 0);
  send_.offer(0);
  ask(35, packed(1u, 0u), 0);
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_.front().size(), 4000u) << "the link drops it";
}

TEST_F(LabDevice, RefusesFramesThatNoNetworkHas) {
  set_up();
  send_.describe(0, kBuffers, 11, 0);
  send_.offer(0);
  EXPECT_THROW(ask(35, packed(1u, 0u), 0), GuestError) << "shorter than its header";
  send_.describe(0, kBuffers, 12 + 13, 0);
  send_.offer(0);
  EXPECT_THROW(ask(35, packed(1u, 0u), 0), GuestError) << "without addresses";
  send_.describe(0, kBuffers, 100, 2);
  send_.offer(0);
  EXPECT_THROW(ask(35, packed(1u, 0u), 0), GuestError) << "a buffer to be filled";
  receive_.describe(0, kBuffers, 100, 0);
  receive_.offer(0);
  EXPECT_THROW(device_.deliver(std::vector<std::byte>(64)), GuestError);
}

TEST_F(LabDevice, NoticesThatTheGuestHasGone) {
  guest_ = Channel();
  EXPECT_THROW(device_.receive(), GuestGone);
}

/// Whatever it sends: an answer or an error of the guest's.
TEST_F(LabDevice, SurvivesRandomRequests) {
  set_up();
  std::mt19937_64 random(3);
  int errors = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::vector<std::byte> payload(random() % 64);
    for (std::byte& one : payload)
      one = static_cast<std::byte>(random() % (round % 2 == 0 ? 4 : 256));
    try {
      ask(static_cast<std::uint32_t>(random() % 40), payload, 0);
    } catch (const GuestError&) {
      ++errors;
    }
    std::array<std::byte, 4096> answers;
    while (recv(guest_.descriptor(), answers.data(), answers.size(), MSG_DONTWAIT) > 0) {
    }
  }
  EXPECT_GT(errors, 100);
}

// ---- Time

class LabCalendar : public ::testing::Test {
 protected:
  LabCalendar() {
    Pair pair;
    guest_ = Channel(std::move(pair.guests));
    guest_.send(packed(1u, 1u, std::uint64_t{0}));  // START
    calendar_.attach(std::move(pair.ours));
    std::array<std::byte, 16> answer;
    guest_.receive(answer, files_);
    EXPECT_EQ(std::vector(answer.begin(), answer.end()), packed(0u, 1u, std::uint64_t{1}));
    EXPECT_EQ(files_.size(), 2u) << "the page, and where to log";
    page_ = static_cast<std::byte*>(
        mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, files_.at(0).get(), 0));
  }
  ~LabCalendar() override { munmap(page_, 8192); }
  template <class Value>
  Value page(std::size_t offset) const {
    Value value;
    std::memcpy(&value, page_ + offset, sizeof value);
    return value;
  }
  template <class Value>
  void set_page(std::size_t offset, Value value) const {
    std::memcpy(page_ + offset, &value, sizeof value);
  }
  void say(std::uint32_t operation, std::uint64_t time = 0) {
    guest_.send(packed(operation, 7u, time));
    calendar_.receive();
  }
  std::uint64_t answer() const {
    std::array<std::byte, 16> message;
    guest_.receive(message);
    std::uint64_t time = 0;
    std::memcpy(&time, message.data() + 8, sizeof time);
    EXPECT_EQ(std::vector(message.begin(), message.begin() + 8), packed(0u, 7u));
    return time;
  }
  static constexpr std::size_t kFreeUntil = 8, kNow = 16, kRunning = 24, kOfGuest = 4096 + 128;

  Calendar calendar_{1'700'000'000'000'000'000};
  Channel guest_;
  std::vector<File> files_;
  std::byte* page_ = nullptr;
};

TEST_F(LabCalendar, SharesAPageAsTheKernelExpectsIt) {
  EXPECT_EQ(page<std::uint32_t>(0), 2u) << "version";
  EXPECT_EQ(page<std::uint32_t>(4), 8192u + sizeof(lab_shared)) << "bytes";
  EXPECT_EQ(page<std::uint16_t>(kRunning), 1) << "the guest runs";
  EXPECT_EQ(page<std::uint16_t>(26), 2) << "clients";
  EXPECT_EQ(page<std::uint32_t>(4096), 1u) << "we share the time, too";
  EXPECT_FALSE(calendar_.waits());
}

TEST_F(LabCalendar, LetsItRunWhenItAsks) {
  set_page(kOfGuest + 8, std::uint64_t{500});
  set_page(kOfGuest + 4, std::uint32_t{1});
  say(3);  // WAIT
  ASSERT_TRUE(calendar_.waits());
  EXPECT_EQ(calendar_.requested(), 500);
  calendar_.run(500, 900);
  EXPECT_FALSE(calendar_.waits());
  std::array<std::byte, 16> run;
  guest_.receive(run);
  EXPECT_EQ(std::vector(run.begin(), run.end()), packed(6u, 1u, std::uint64_t{500}));
  EXPECT_EQ(page<std::uint64_t>(kFreeUntil), 900u);
  EXPECT_EQ(page<std::uint64_t>(kNow), 500u);
  calendar_.limit(800);
  EXPECT_EQ(page<std::uint64_t>(kFreeUntil), 800u);
  calendar_.limit(850);
  EXPECT_EQ(page<std::uint64_t>(kFreeUntil), 800u) << "only earlier";
  set_page(kNow, std::uint64_t{640});
  EXPECT_EQ(calendar_.now(), 640);
}

TEST_F(LabCalendar, AnswersWhatItIsAsked) {
  say(8);  // GET_TOD
  EXPECT_EQ(answer(), 1'700'000'000'000'000'000u);
  say(4);  // GET
  EXPECT_EQ(answer(), 0u);
  say(5, 70);  // UPDATE
  EXPECT_EQ(answer(), 0u);
  say(2, 90);  // REQUEST
  EXPECT_EQ(answer(), 0u);
  EXPECT_EQ(calendar_.requested(), 90);
}

TEST_F(LabCalendar, IsNeverAskedForNothing) {
  say(3);
  EXPECT_EQ(calendar_.requested(), Calendar::kNever);
}

TEST_F(LabCalendar, RefusesTimeThatRunsBackwards) {
  say(3);
  calendar_.run(100, 200);
  set_page(kNow, std::uint64_t{99});
  EXPECT_THROW(calendar_.now(), GuestError);
  EXPECT_THROW(say(5, 50), GuestError);
  EXPECT_THROW(say(5, ~std::uint64_t{0}), GuestError);
  EXPECT_THROW(say(77), GuestError) << "an operation that there is not";
}

TEST(LabChannel, NoticesThatTheGuestHasGone) {
  Pair pair;
  const Channel channel(std::move(pair.ours));
  ASSERT_EQ(write(pair.guests.get(), "abc", 3), 3);
  pair.guests = File();
  EXPECT_THROW(channel.take<std::uint64_t>(), GuestGone) << "in the middle of a message";
}

TEST(LabListener, SaysThatAPathIsTooLong) {
  try {
    const Listener listener("/tmp/" + std::string(200, 'x'));
    FAIL();
  } catch (const std::length_error& error) {
    EXPECT_NE(std::string(error.what()).find("107"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace orrery::lab::testing
