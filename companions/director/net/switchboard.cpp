// SPDX-License-Identifier: Apache-2.0
#include "director/net/switchboard.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <utility>

#include "director/clock_now.h"
#include "director/scheduling.h"
#include "orrery/error.h"

namespace orrery::director {
namespace {

constexpr Nanoseconds kSecond = 1'000'000'000, kMicrosecond = 1'000, kMillisecond = 1'000'000;
constexpr unsigned kFramesOfAMillisecond = 48;
constexpr std::size_t kMostFrame = 65536;                  // bytes; QEMU's largest, with offloads
constexpr Nanoseconds kBetweenTries = 200 * kMicrosecond;  // of a frame for a card that is full
constexpr Nanoseconds kLongestSleep = 50 * kMillisecond;

}  // namespace

Switchboard::Switchboard(Network& network, MachineTimes& times, std::vector<std::vector<int>> cards,
                         Settings settings)
    : network_(network),
      times_(times),
      settings_(std::move(settings)),
      machines_(cards.size()),
      ready_cards_(epoll_create1(EPOLL_CLOEXEC)),
      buffer_(kMostFrame),
      own_{.machines = {}, .late = SpreadCounts(kMicrosecond), .refused = 0},
      shared_(own_) {
  for (lab::NodeId host = 0; host < cards.size(); ++host) {
    for (unsigned port = 0; port < cards[host].size(); ++port)
      cards_.push_back({.host = host, .port = port, .socket = cards[host][port]});
  }
  for (std::size_t i = 0; i < cards_.size(); ++i) {
    epoll_event wanted{.events = EPOLLIN, .data = {.u64 = i}};
    if (epoll_ctl(ready_cards_.number(), EPOLL_CTL_ADD, cards_[i].socket, &wanted) != 0)
      throw UsageError(fmt::format("a card cannot be watched: {}", std::strerror(errno)));
  }
}

void Switchboard::start() {
  for (const Card& card : cards_)
    while (recv(card.socket, buffer_.data(), buffer_.size(), MSG_DONTWAIT) > 0) {
    }
  thread_ = std::thread([this] {
    try {
      run();
    } catch (...) {
      failure_ = std::current_exception();
      has_failed_ = true;
    }
  });
}

void Switchboard::check() const {
  if (has_failed_) std::rethrow_exception(failure_);
}

void Switchboard::stop() {
  stops_ = true;
  if (thread_.joinable()) thread_.join();
}

void Switchboard::become_real_time() const {
  prctl(PR_SET_NAME, "orrery-network");
  if (!settings_.is_real_time) return;
  if (const int error = set_scheduling(0, scheduling_of(Level::helper)); error != 0)
    throw UsageError(
        fmt::format("the network's thread cannot be a real-time thread: {}", std::strerror(error)));
}

void Switchboard::run() {
  become_real_time();
  while (!stops_.load(std::memory_order_relaxed)) {
    times_.refresh();
    if (const Nanoseconds now = clock_now(); now >= refill_at_) {
      frames_left_ = kFramesOfAMillisecond;
      refill_at_ = now + kMillisecond;
    }
    if (clock_now() - shared_at_ > kLongestSleep) share_counts();
    read_frames();
    network_.advance(times_.system());
    const bool is_held = is_held_;
    if (!is_held) deliver();
    wait(is_held);
  }
  share_counts();
}

/// Sleeps until a frame comes, a machine's clock may have reached an arrival, or a tick is needed.
void Switchboard::wait(bool is_held) {
  const Nanoseconds next = is_held ? INT64_MAX : network_.next();
  times_.set_leap(next);
  const Nanoseconds now = clock_now(),
                    longest = frames_left_ == 0 ? refill_at_ : now + kLongestSleep,
                    until = std::min(is_held ? INT64_MAX : next_wake_up(), longest);
  if (until <= now) return;
  if (next != INT64_MAX && !times_.await_tick()) return;
  if (next != INT64_MAX && times_.all_are_idle() && settings_.hurry) settings_.hurry();
  std::array<pollfd, 2> files{
      {{.fd = times_.bell(), .events = POLLIN, .revents = 0},
       {.fd = frames_left_ > 0 ? ready_cards_.number() : -1, .events = POLLIN, .revents = 0}}};
  const timespec left{.tv_sec = (until - now) / kSecond, .tv_nsec = (until - now) % kSecond};
  if (ppoll(files.data(), files.size(), &left, nullptr) <= 0) return;
  std::uint64_t rung = 0;
  if (files[0].revents != 0) [[maybe_unused]]
    const ssize_t done = read(times_.bell(), &rung, sizeof rung);
}

/// By CLOCK_MONOTONIC.
Nanoseconds Switchboard::next_wake_up() {
  const Nanoseconds now = clock_now();
  Nanoseconds first = INT64_MAX;
  for (const Card& card : cards_) {
    const Network::Frame* const frame = network_.next_for(card.host, card.port);
    if (frame == nullptr) continue;
    const auto due = times_.earliest(card.host, frame->time, now);
    if (due) first = std::min(first, std::max(*due, card.full_until));
  }
  return first;
}

void Switchboard::read_frames() {
  std::array<epoll_event, 64> ready;
  while (frames_left_ > 0) {
    const int count = epoll_wait(ready_cards_.number(), ready.data(), ready.size(), 0);
    if (count <= 0) return;
    const unsigned before = frames_left_;
    // A frame of each card in turn, so that a flood takes nothing from the others.
    for (int i = 0; i < count && frames_left_ > 0; ++i)
      if (read_frame(cards_[ready[std::size_t(i)].data.u64])) --frames_left_;
    if (frames_left_ == before) return;
  }
}

bool Switchboard::read_frame(Card& card) {
  const ssize_t bytes = recv(card.socket, buffer_.data(), buffer_.size(), MSG_DONTWAIT | MSG_TRUNC);
  if (bytes < 0) return false;
  if (!times_.knows(card.host)) return true;
  const auto size = std::min(static_cast<std::size_t>(bytes), buffer_.size());
  network_.sent(card.host, card.port, times_.exact(card.host),
                {buffer_.begin(), buffer_.begin() + std::ptrdiff_t(size)});
  return true;
}

void Switchboard::deliver() {
  for (Card& card : cards_)
    while (deliver_next(card)) {
    }
}

/// False if there is nothing for this card now.
bool Switchboard::deliver_next(Card& card) {
  const Network::Frame* const first = network_.next_for(card.host, card.port);
  const Nanoseconds now = clock_now();
  if (first == nullptr || now < card.full_until) return false;
  const auto due = times_.earliest(card.host, first->time, now);
  if (!due || *due > now) return false;
  const Nanoseconds clock = times_.exact(card.host);
  if (clock < first->time) return false;
  if (send(card.socket, first->bytes.data(), first->bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL) <
      0) {
    if (errno == EAGAIN || errno == ENOBUFS) {
      card.full_until = now + kBetweenTries;
      return false;
    }
    ++own_.refused;  // the machine has ended
  }
  own_.late.add(clock - first->time);
  network_.take(card.host, card.port);
  return true;
}

void Switchboard::share_counts() {
  shared_at_ = clock_now();
  const std::unique_lock lock(sharing_, std::try_to_lock);
  if (!lock) return;
  shared_.machines.clear();
  for (lab::NodeId host = 0; host < machines_; ++host)
    shared_.machines.push_back(network_.counts(host));
  shared_.late = own_.late;
  shared_.refused = own_.refused;
}

Switchboard::Counts Switchboard::counts() {
  const std::lock_guard lock(sharing_);
  return shared_;
}

}  // namespace orrery::director
