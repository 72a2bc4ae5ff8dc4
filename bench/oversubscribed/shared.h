// SPDX-License-Identifier: Apache-2.0
//
// What the ranks share, made before they are: a ring for each ordered pair, with one writer and one
// reader, and a board for each rank with what the others may see of it.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "setting.h"

namespace oversubscribed {

struct Ring {
  static constexpr std::uint64_t kRoom = 1024;  // at most: 32 ranks have a thousand rings
  alignas(64) std::atomic<std::uint64_t> tail{0};
  alignas(64) std::atomic<std::uint64_t> head{0};
  Event places[kRoom];
};

struct alignas(64) Board {
  /// Those whose rings to this rank may have something in them, a bit each.
  std::atomic<std::uint64_t> mail[kMostRanks / 64] = {};
  /// Conservative: it sends nothing that comes before this and the lookahead.
  alignas(64) std::atomic<Ticks> clock{0};
  /// To wake it (way.cpp).
  alignas(64) std::atomic<std::uint32_t> bell{0};
  std::atomic<std::uint32_t> asleep{0};
  /// To a round of GVT.
  alignas(64) Ticks lowest = 0;
  std::int64_t sent_minus_received = 0;
  /// So far, for whoever gives the run up.
  alignas(64) std::atomic<std::uint64_t> committed{0};
  /// At the end.
  std::uint64_t executed = 0, rollbacks = 0, rounds = 0, fingerprint = 0;
};

/// One round of GVT after the other; who comes last adds up what all have reported.
struct Rounds {
  alignas(64) std::atomic<std::uint32_t> wanted{0};
  alignas(64) std::atomic<std::uint32_t> completed{0};
  alignas(64) std::atomic<unsigned> arrived{0};
  Ticks gvt = 0;
  std::int64_t in_transit = 0;
};

class Shared {
 public:
  explicit Shared(const Setting& setting)
      : setting_(setting),
        boards_(map<Board>(setting.ranks)),
        rings_(map<Ring>(std::size_t{setting.ranks} * setting.ranks)),
        common_(map<Common>(1)) {}

  const Setting& setting() const { return setting_; }
  Board& board(unsigned rank) const { return boards_[rank]; }
  Ring& ring(unsigned from, unsigned to) const { return rings_[from * setting_.ranks + to]; }
  Rounds& rounds() const { return common_->rounds; }
  std::atomic<unsigned>& started() const { return common_->started; }
  /// Optimistic: ranks that have nothing left to execute.
  std::atomic<unsigned>& resting() const { return common_->resting; }

 private:
  struct Common {
    Rounds rounds;
    alignas(64) std::atomic<unsigned> started{0};
    alignas(64) std::atomic<unsigned> resting{0};
  };
  template <class T>
  static T* map(std::size_t count) {
    void* memory =
        mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    // Default initialisation: what has no initial value, the places of rings, is not touched.
    for (std::size_t i = 0; i < count; ++i) new (static_cast<T*>(memory) + i) T;
    return static_cast<T*>(memory);
  }

  const Setting setting_;
  Board* const boards_;
  Ring* const rings_;
  Common* const common_;
};

}  // namespace oversubscribed
