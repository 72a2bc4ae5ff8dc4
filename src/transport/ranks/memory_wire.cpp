// SPDX-License-Identifier: Apache-2.0
#include "transport/ranks/memory_wire.h"

#include <cstdlib>
#include <thread>
#include <utility>

namespace orrery::transport {

class MemoryWire final : public Wire {
 public:
  MemoryWire(MemoryFabric& fabric, unsigned rank)
      : fabric_(fabric),
        rank_(rank),
        random_(fabric.adversary_.seed * 977 + rank),
        delays_(fabric.ranks()) {}
  ~MemoryWire() override {
    if (!parted_) fabric_.lost_[rank_].store(true, std::memory_order_relaxed);
  }

  unsigned rank() const override { return rank_; }
  unsigned ranks() const override { return fabric_.ranks(); }
  std::string name() const override { return "memory"; }

  void send(unsigned to, Parcel parcel) override {
    MemoryFabric::Stream& stream = fabric_.stream(rank_, to);
    const std::lock_guard lock(stream.mutex);
    stream.parcels.push_back(std::move(parcel));
  }
  bool progress(const Deliver& deliver) override {
    bool moved = false;
    for (unsigned from = 0; from < ranks(); ++from) {
      if (from == rank_) continue;
      while (may_come(from)) {
        Parcel parcel;
        if (!take(from, parcel)) break;
        moved = true;
        deliver(from, std::move(parcel));
      }
    }
    return moved;
  }
  bool is_drained() const override { return true; }
  /// Delays are counted in looks, so this does not sleep. With more threads than cores, the yield
  /// gives the others some time.
  void wait(std::chrono::microseconds) override {
    if (++waits_ % 8 == 0) std::this_thread::yield();
  }
  void part() override { parted_ = true; }
  void abandon(int) noexcept override {
    fabric_.lost_[rank_].store(true, std::memory_order_relaxed);
  }

 private:
  /// Whether the adversary lets a parcel through. A long delay is many looks of an idle receiver.
  bool may_come(unsigned from) {
    if (!fabric_.adversary_.delays) return true;
    if (delays_[from] > 0) return --delays_[from] == 0;
    const auto drawn = random_() % 128;
    if (drawn < 112) return true;
    delays_[from] = drawn < 127 ? random_() % 16 + 1 : random_() % 300 + 1;
    return false;
  }
  bool take(unsigned from, Parcel& parcel) {
    MemoryFabric::Stream& stream = fabric_.stream(from, rank_);
    const std::lock_guard lock(stream.mutex);
    if (stream.parcels.empty()) {
      if (!parted_ && fabric_.lost_[from].load(std::memory_order_relaxed)) throw RankLost(from);
      return false;
    }
    parcel = std::move(stream.parcels.front());
    stream.parcels.pop_front();
    return true;
  }

  MemoryFabric& fabric_;
  const unsigned rank_;
  std::minstd_rand random_;
  std::vector<std::uint32_t> delays_;  ///< looks, by sender
  std::uint32_t waits_ = 0;
  bool parted_ = false;
};

MemoryFabric::MemoryFabric(unsigned ranks, Adversary adversary)
    : ranks_(ranks), adversary_(adversary), lost_(std::make_unique<std::atomic<bool>[]>(ranks)) {
  for (std::size_t i = 0; i < std::size_t{ranks} * ranks; ++i)
    streams_.push_back(std::make_unique<Stream>());
}

std::unique_ptr<Wire> MemoryFabric::wire(unsigned rank) {
  return std::make_unique<MemoryWire>(*this, rank);
}

}  // namespace orrery::transport
