// SPDX-License-Identifier: Apache-2.0
#include "transport/ranks/local_wire.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <utility>

#include "core/cycles.h"
#include "transport/ranks/shared_rings.h"

namespace orrery::transport {
namespace {

/// Interval between looks at the sockets.
constexpr double kSocketSeconds = 1e-3;
/// Sleep of a rank that has parcels to send and no room for them: no other rank wakes it for room.
constexpr std::chrono::microseconds kShortWait{100};

/// The streams to and from another rank. Parcels follow each other, each a head and its bytes, and
/// are split anywhere on their way.
class Peer {
 public:
  Peer(unsigned rank, int socket, RingWriter writer, RingReader reader)
      : rank_(rank), socket_(socket), writer_(writer), reader_(reader) {}
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;
  ~Peer() { close(socket_); }

  int socket() const { return socket_; }
  bool has_unsent() const { return !unsent_.empty(); }
  bool is_gone() const { return gone_; }

  void send(Parcel parcel, bool holds) {
    unsent_.push_back(std::move(parcel));
    if (unsent_.size() == 1 && !holds) flush();
  }
  /// Sends as much as there is room for, parcel by parcel, so that the other rank can begin.
  bool flush() {
    bool moved = false;
    while (!unsent_.empty() && !gone_) {
      const std::span<const std::byte> left = unsent_.front().image().subspan(sent_of_first_);
      const std::size_t sent = writer_.write(left);
      if (sent == 0) break;
      moved = true;
      writer_.publish();
      sent_of_first_ += sent;
      if (sent < left.size()) break;
      unsent_.pop_front();
      sent_of_first_ = 0;
    }
    if (moved && writer_.finds_sleeper()) ring();
    return moved;
  }
  template <class Deliver>
  bool receive(Deliver&& deliver) {
    return reader_.read(
        [&](const std::byte* from, std::size_t bytes) { take(from, bytes, deliver); });
  }
  bool may_sleep() { return reader_.may_sleep(); }
  void wake() { reader_.wake(); }

  /// Discards the bytes that woke this rank, and notes whether the other end is gone.
  void look_at_socket() {
    std::byte woken[64];
    for (;;) {
      const ssize_t got = recv(socket_, woken, sizeof woken, MSG_DONTWAIT);
      if (got > 0 || (got < 0 && errno == EINTR)) continue;
      gone_ |= got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
      return;
    }
  }

 private:
  /// If the socket has no room, the other end has been woken many times. If the other end is gone,
  /// look_at_socket() finds out.
  void ring() {
    const std::byte any{1};
    while (::send(socket_, &any, 1, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 && errno == EINTR) {
    }
  }
  template <class Deliver>
  void take(const std::byte* from, std::size_t bytes, Deliver&& deliver) {
    while (bytes > 0) {
      if (head_bytes_ < sizeof head_) {
        const std::size_t part = std::min(bytes, sizeof head_ - head_bytes_);
        std::memcpy(reinterpret_cast<std::byte*>(&head_) + head_bytes_, from, part);
        head_bytes_ += part;
        from += part;
        bytes -= part;
        if (head_bytes_ < sizeof head_) return;
        coming_ = Parcel(head_.bytes);
        coming_.head() = head_;
      }
      const std::size_t part = std::min<std::size_t>(bytes, head_.bytes - coming_.size());
      coming_.append(from, part);
      from += part;
      bytes -= part;
      if (coming_.size() < head_.bytes) return;
      head_bytes_ = 0;
      deliver(rank_, std::move(coming_));
    }
  }

  const unsigned rank_;
  const int socket_;
  RingWriter writer_;
  RingReader reader_;
  std::deque<Parcel> unsent_;
  std::size_t sent_of_first_ = 0;
  ParcelHead head_;  ///< of the parcel that is being received
  std::size_t head_bytes_ = 0;
  Parcel coming_;
  bool gone_ = false;
};

class LocalWire final : public Wire {
 public:
  LocalWire(unsigned rank, int memory, std::vector<int> sockets)
      : rank_(rank), memory_(memory), rings_(memory, static_cast<unsigned>(sockets.size())) {
    for (unsigned other = 0; other < sockets.size(); ++other)
      peers_.push_back(other == rank ? nullptr
                                     : std::make_unique<Peer>(other, sockets[other],
                                                              rings_.writer(rank, other),
                                                              rings_.reader(other, rank)));
  }
  ~LocalWire() override { close(memory_); }

  unsigned rank() const override { return rank_; }
  unsigned ranks() const override { return static_cast<unsigned>(peers_.size()); }
  std::string name() const override { return "local"; }
  void about(std::string_view text) override {
    SharedRings::write_about(memory_, ranks(), rank_, text);
  }

  void send(unsigned to, Parcel parcel) override { peers_[to]->send(std::move(parcel), holds_); }
  void hold() override { holds_ = true; }
  void flush() override {
    holds_ = false;
    for (const auto& peer : peers_)
      if (peer != nullptr) peer->flush();
  }

  bool looks_are_cheap() const override { return true; }

  bool progress(const Deliver& deliver) override {
    bool moved = false;
    const bool looks = read_cycles() >= next_look_cycles_;
    for (unsigned other = 0; other < peers_.size(); ++other) {
      if (peers_[other] == nullptr) continue;
      Peer& peer = *peers_[other];
      moved |= peer.flush();
      if (looks) peer.look_at_socket();
      // After that look: parcels sent before the other end went are in the ring.
      moved |= peer.receive(deliver);
      if (peer.is_gone() && !parted_) throw RankLost(other);
    }
    if (looks) next_look_cycles_ = read_cycles() + cycles_in(kSocketSeconds);
    return moved;
  }
  bool is_drained() const override {
    return std::none_of(peers_.begin(), peers_.end(), [](const auto& peer) {
      return peer != nullptr && peer->has_unsent() && !peer->is_gone();
    });
  }
  void wait(std::chrono::microseconds most) override {
    std::vector<pollfd> sockets;
    bool may_sleep = true;
    for (const auto& peer : peers_) {
      if (peer == nullptr || peer->is_gone()) continue;
      may_sleep &= peer->may_sleep();
      if (peer->has_unsent()) most = std::min(most, kShortWait);
      sockets.push_back({peer->socket(), POLLIN, 0});
    }
    const timespec time{static_cast<time_t>(most.count() / 1'000'000),
                        static_cast<long>(most.count() % 1'000'000) * 1000};
    if (may_sleep) ppoll(sockets.data(), sockets.size(), &time, nullptr);
    for (const auto& peer : peers_)
      if (peer != nullptr) peer->wake();
    next_look_cycles_ = 0;
  }
  void part() override { parted_ = true; }
  /// Nothing to do: the launcher (local_launch.h) sees this process end, and ends the others.
  void abandon(int) noexcept override {}

 private:
  const unsigned rank_;
  const int memory_;
  const SharedRings rings_;
  std::vector<std::unique_ptr<Peer>> peers_;
  std::uint64_t next_look_cycles_ = 0;  ///< at the sockets
  bool parted_ = false;
  bool holds_ = false;  ///< until flush()
};

}  // namespace

std::unique_ptr<Wire> make_local_wire(unsigned rank, int memory, std::vector<int> sockets) {
  return std::make_unique<LocalWire>(rank, memory, std::move(sockets));
}

}  // namespace orrery::transport
