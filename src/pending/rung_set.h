// SPDX-License-Identifier: Apache-2.0
//
// The part of the radix heap that does not depend on its digits: a front that holds the next events
// in order, rungs of buckets behind it, one pool for the buckets' entries, and the counts that
// decide on reorganisations. The derived set decides how a rung divides its times, and where an
// event belongs.
//
// The derived set is a template parameter of its base ("curiously recurring"), so that a pop is
// inlined completely and no call is indirect. It must have, visible to this class as a friend:
//
//  fill_front()  opens buckets until the front has got events; the set is not empty.
//  take_all(f)   calls f(entry) for all entries and resets everything but the size.
//
// A rung has up to 256 buckets. So many can be appended to in turn without leaving the first-level
// cache, and one more rung is cheaper than misses.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <memory>

#include "memory/application_mode.h"
#include "pending/bucket_pool.h"
#include "pending/pending_set.h"
#include "pending/sorted_front.h"

namespace orrery::pending {

constexpr unsigned kMaxRungBits = 8;  // 256 buckets a rung

/// The range of the times of some events; `Number` is the set's type for times.
template <class Number>
struct TimeRange {
  Number min = std::numeric_limits<Number>::max();
  Number max = std::numeric_limits<Number>::min();

  void add(Number time) {
    min = std::min(min, time);
    max = std::max(max, time);
  }
};

template <class Derived, class Rung, std::size_t kMaxRungs, class Event, class Probe>
class RungSet {
 public:
  RungSet(const RungSet&) = delete;
  RungSet& operator=(const RungSet&) = delete;

  Event* top() {
    if (front_.empty() && !refill()) return nullptr;
    return front_.top();
  }

  Event* pop() {
    if (front_.empty() && !refill()) [[unlikely]]
      return nullptr;
    --size_;
    return front_.pop();
  }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const Event* upcoming(std::size_t i) const { return front_.upcoming(i); }

  std::size_t bytes() const {
    return sizeof(Derived) + front_.bytes() + pool_.bytes() + rungs_made_ * sizeof(Rung);
  }

  template <class F>
  void drain(F f) {
    // Events lie anywhere in memory: their lines are prefetched some events ahead.
    std::array<Event*, kDrainAhead> coming;
    std::size_t seen = 0;
    self().take_all([&](const EntryT& entry) {
      Event*& place = coming[seen % kDrainAhead];
      if (seen >= kDrainAhead) f(place);
      place = entry.event;
      __builtin_prefetch(place);
      ++seen;
    });
    for (std::size_t i = seen - std::min(seen, kDrainAhead); i < seen; ++i)
      f(coming[i % kDrainAhead]);
    size_ = 0;
  }

 protected:
  using EntryT = Entry<Event>;
  using Pool = BucketPool<Event>;
  using Bucket = typename Pool::Bucket;
  using Front = SortedFront<Event, Probe>;

  static constexpr std::size_t kBucketTarget = 16;  // events a bucket of an even rung gets
  static constexpr std::size_t kDrainAhead = 16;
  static constexpr std::size_t kCrowd = 128;  // pushes past the front's array before a split

  RungSet() = default;
  ~RungSet() = default;

  /// The next inner rung, in the state that it was left in. Several rungs are allocated at once:
  /// few workloads need more than the first lot, but the depth may vary with time, as an odometer
  /// does, and a warm set must not allocate.
  Rung& next_rung() {
    if (rungs_[rung_count_] == nullptr) [[unlikely]]
      make_rungs();
    return *rungs_[rung_count_++];
  }

  // Small members last, so that they share cache lines with those of the derived set.
  std::array<std::unique_ptr<Rung>, kMaxRungs> rungs_;
  Front front_;
  Pool pool_;
  std::size_t rung_count_ = 0;
  std::size_t rungs_made_ = 0;  // allocated rungs, the first of rungs_
  std::size_t crowd_ = 0;       // pushes to the side heap since the front was loaded
  std::size_t stragglers_ = 0;  // of these, the ones before the front's range
  std::size_t size_ = 0;

 private:
  static constexpr std::size_t kRungsAtOnce = 6;

  [[gnu::noinline]] void make_rungs() {
    const memory::PlatformMode platform;
    const std::size_t end = std::min(rung_count_ + kRungsAtOnce, kMaxRungs);
    while (rungs_made_ < end) rungs_[rungs_made_++] = std::make_unique<Rung>();
  }

  Derived& self() { return static_cast<Derived&>(*this); }

  bool refill() {
    if (size_ == 0) return false;
    crowd_ = stragglers_ = 0;
    self().fill_front();
    return true;
  }
};

}  // namespace orrery::pending
