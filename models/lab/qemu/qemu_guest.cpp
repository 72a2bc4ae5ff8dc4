// SPDX-License-Identifier: Apache-2.0
#include "qemu_guest.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <system_error>

#include "../core.h"
#include "../file.h"
#include "../guest_error.h"

namespace orrery::lab {
namespace {

constexpr std::int64_t kMostGrantNs = 10'000'000;
/// In a grant: a driver executes more than 500 instructions for a frame, also at 10 GHz.
constexpr std::uint64_t kMostMessages = 200'000;

std::pair<File, File> socket_pair() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw std::system_error(errno, std::generic_category(), "sockets for a guest");
  return {File(ends[0]), File(ends[1])};
}

[[noreturn]] void refuse(const orrery_message& message, const char* what) {
  throw GuestError("its QEMU sent a message (" + std::to_string(message.kind & 0xff) + ") " + what);
}

}  // namespace

QemuGuest::QemuGuest(GuestCommand&& command, unsigned cards, std::chrono::milliseconds patience,
                     Network& network)
    : network_(network), cards_(cards), timeout_(patience) {
  auto [ours, its] = socket_pair();
  channel_ = Channel(std::move(ours));
  command.extra = std::move(its);
  process_ = std::make_unique<GuestProcess>(std::move(command));
}

void QemuGuest::arrive(unsigned device, std::int64_t time, std::vector<std::byte> frame) {
  due_.emplace(std::pair(time, ORRERY_ARRIVE), Due{device, std::move(frame)});
}

void QemuGuest::carrier(unsigned device, std::int64_t time, bool up) {
  due_.emplace(std::pair(time, up ? ORRERY_UP : ORRERY_DOWN), Due{device, {}});
}

std::int64_t QemuGuest::next() const {
  return up_ ? std::min(next_, next_due()) : kNever;
}

void QemuGuest::advance(std::int64_t until) {
  if (!up_ || next() >= until) return;
  const StayOnCore here;
  if (here.core() >= 0 && here.core() != core_) move_to_core(process_->id(), core_ = here.core());
  try {
    if (granted_ < 0) begin();
    while (up_ && next() < until)
      grant(until - std::max(next(), granted_) <= kMostGrantNs
                ? until
                : std::max(next(), granted_) + kMostGrantNs);
  } catch (const GuestGone&) {
    up_ = false;
    throw GuestError("its QEMU has ended");
  }
}

/// The guest has been started: waits until it can be granted time.
void QemuGuest::begin() {
  const orrery_message message = await();
  if (message.kind != ORRERY_STOPPED)
    throw GuestError("its QEMU is from another version: ./dev lab --qemu builds it");
  granted_ = 0;
  stopped(message, 0);
}

/// Lets the guest execute everything before `until`.
void QemuGuest::grant(std::int64_t until) {
  while (next_due() < until) {
    const auto& [when, due] = *due_.begin();
    tell({when.second, due.card, static_cast<std::uint32_t>(due.frame.size()), 0, when.first, 0, 0,
          0},
         due.frame);
    due_.erase(due_.begin());
  }
  granted_ = until;
  tell({ORRERY_GRANT, 0, 0, 0, until, 0, 0, 0});
  serve(until);
}

void QemuGuest::serve(std::int64_t until) {
  for (std::uint64_t count = 0;; ++count) {
    if (count > kMostMessages) throw GuestError("its QEMU sends without an end");
    const orrery_message message = await();
    if (message.kind == ORRERY_STOPPED) return stopped(message, until);
    if (message.time < last_ || message.time >= until) refuse(message, "about another time");
    last_ = message.time;
    if (message.kind == ORRERY_OFF) return ended(message);
    if (message.kind != ORRERY_FRAME) refuse(message, "that there is not");
    send_frame(message);
  }
}

void QemuGuest::stopped(const orrery_message& message, std::int64_t until) {
  if (message.time != until || message.next < until || message.bytes != 0)
    refuse(message, "about another time");
  note_work(message);
  next_ = message.next;
  dropped_ += message.number;
  timeout_.got_on();
}

void QemuGuest::note_work(const orrery_message& message) {
  if (message.executed < work_.instructions || message.on < work_.cards_on_ns ||
      message.cards > cards_)
    refuse(message, "about work that is undone");
  work_ = {message.executed, message.on};
  cards_on_ = message.cards;
}

/// A guest that waits is granted nothing, and its cards stay as they are.
std::optional<Guest::Work> QemuGuest::work(std::int64_t until) const {
  Work work = work_;
  if (up_) work.cards_on_ns += cards_on_ * std::max<std::int64_t>(until - granted_, 0);
  return work;
}

void QemuGuest::ended(const orrery_message& message) {
  note_work(message);
  up_ = false;
  constexpr std::uint32_t kCauses = 256;  // from here on: why QEMU ended the machine
  if (message.number >= kCauses)
    throw GuestError("it has reset itself, or broken down, without being switched off");
  if (message.number != 0)
    throw GuestError("it has ended in disorder, with the code " + std::to_string(message.number));
}

void QemuGuest::send_frame(const orrery_message& message) {
  if (message.number >= cards_ || message.bytes < ORRERY_LEAST_FRAME ||
      message.bytes > ORRERY_MOST_FRAME)
    refuse(message, "with a frame that no card sends");
  frame_.resize(message.bytes);
  channel_.receive(frame_);
  const std::int64_t left = network_.sent(message.number, message.time, frame_);
  tell({ORRERY_LEFT, message.number, 0, 0, left, 0, 0, 0});
}

// ---- Messages

void QemuGuest::tell(const orrery_message& message, std::span<const std::byte> frame) const {
  channel_.put(message);
  channel_.send(frame);
}

orrery_message QemuGuest::await() {
  pollfd answer{channel_.descriptor(), POLLIN, 0};
  int ready = 0;
  do {
    ready = poll(&answer, 1, static_cast<int>(GuestTimeout::kPeriod.count()));
    if (ready < 0 && errno != EINTR)
      throw std::system_error(errno, std::generic_category(), "poll");
    timeout_.check(process_->id());
  } while (ready <= 0);
  return channel_.take<orrery_message>();
}

}  // namespace orrery::lab
