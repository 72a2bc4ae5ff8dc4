// SPDX-License-Identifier: Apache-2.0
//
// A ladder queue: far events in one unsorted bucket (the top), nearer ones in rungs of buckets,
// each rung the refinement of one bucket of the rung above it, and the nearest in order (the
// bottom, here a SortedFront).
//
//              typical                                worst case
//   push       O(1): an append                        O(log n) amortised, up to 64 rungs to look at
//   pop        O(1) amortised: an event is appended   O(log n) amortised, an event is appended 64
//              two or three times, then sorted        times at most
//              among 48 at most
//   top        as pop, without what is paid for once  as pop
//   memory     17 to 20 bytes an event, 256 for       the same and 16 an event, where all are at
//              each bucket in use, 20 KiB at least    one instant
//
// After Tang, Goh and Thng, "Ladder queue: an O(1) priority queue structure for large-scale
// discrete event simulation", ACM TOMACS 15 (2005). What is different here, and why:
//  - A bucket is a power of two wide, so that it is found by a shift, and a rung has at most 256
//    buckets rather than one for each event: as many can be appended to in turn without leaving the
//    first-level cache, and one more rung is cheaper than misses.
//  - A rung refines the range in which a bucket's events lie, not the bucket's whole range; its
//    last bucket takes what is pushed behind that. Each refinement thus separates events, and a
//    rung whose last bucket is opened gives way to its refinement, so there are never more than 64.
//    (The paper bounds the rungs and then sorts one long list, which is quadratic when pushes keep
//    landing in it.) Events at one instant, which no width separates, go to the front's side heap.
//  - Stragglers land in the bottom as in the paper. When they have become a good part of all events
//    everything starts over from the top, which their number has paid for.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include "pending/bucket_pool.h"
#include "pending/pending_set.h"
#include "pending/rung_set.h"

namespace orrery::pending {

constexpr std::size_t kMaxLadderRungs = 66;

/// Buckets of 2^shift ticks from `start` on; the last one reaches to `end`. Those before
/// `current` have been opened.
template <class Event>
struct LadderRung {
  using Bucket = typename BucketPool<Event>::Bucket;

  std::int64_t start;
  std::int64_t end;
  unsigned shift;
  std::size_t current;
  std::size_t bucket_count;
  std::array<Bucket, 1u << kMaxRungBits> buckets{};

  /// Ticks from one time to a later one, which a signed number may not hold.
  static std::uint64_t distance(std::int64_t from, std::int64_t to) {
    return static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from);
  }
  std::size_t index(std::int64_t time) const {
    return std::min<std::size_t>(distance(start, time) >> shift, bucket_count - 1);
  }
  std::int64_t first_tick(std::size_t i) const {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(start) +
                                     (static_cast<std::uint64_t>(i) << shift));
  }
  std::int64_t last_tick(std::size_t i) const {
    return i + 1 == bucket_count ? end : first_tick(i + 1) - 1;
  }
};

template <class Event, class Probe = NoProbe>
class LadderQueue
    : public RungSet<LadderQueue<Event, Probe>, LadderRung<Event>, kMaxLadderRungs, Event, Probe> {
  using Rung = LadderRung<Event>;
  using Base = RungSet<LadderQueue, Rung, kMaxLadderRungs, Event, Probe>;
  friend Base;

  using Base::crowd_;
  using Base::front_;
  using Base::kBucketTarget;
  using Base::kCrowd;
  using Base::next_rung;
  using Base::pool_;
  using Base::rung_count_;
  using Base::rungs_;
  using Base::size_;
  using Base::stragglers_;
  using typename Base::Bucket;
  using typename Base::EntryT;
  using typename Base::Front;
  using typename Base::Pool;
  using Range = TimeRange<std::int64_t>;

  static constexpr std::int64_t kMinTime = std::numeric_limits<std::int64_t>::min();

 public:
  void push(Event* event) {
    const EntryT entry = entry_of(event);
    ++size_;
    Probe::steps(1);
    if (entry.time > ladder_end_) {
      push_top(entry);
    } else if (entry.time > front_end_) {
      push_rung(entry);
    } else {
      push_front(entry);
    }
  }

  // It leaves looking ahead to the radix heap, which is the default.
  bool announces() const { return false; }
  const Event* announced() { return nullptr; }

 private:
  void push_top(EntryT entry) {
    top_range_.add(entry.time);
    pool_.append(top_, entry);
  }

  /// The innermost rung that reaches as far is the one: what its buckets before the current one
  /// covered is in the front now.
  void push_rung(EntryT entry) {
    std::size_t i = rung_count_ - 1;
    while (entry.time > rungs_[i]->end) --i;
    Probe::steps(rung_count_ - i);
    pool_.append(rungs_[i]->buckets[rungs_[i]->index(entry.time)], entry);
  }

  void push_front(EntryT entry) {
    if (size_ == 1 && entry.time < front_start_) {  // all earlier events are gone: start anew
      forget_ranges();
      return push_top(entry);
    }
    if (!front_.push(entry)) return;
    if (entry.time < front_start_) {
      if (++stragglers_ > kCrowd + size_ / 8) start_over();
    } else if (front_start_ < front_end_ && ++crowd_ > kCrowd + stragglers_) {
      split_front();
    }
  }

  /// Takes everything back to the top.
  void start_over() {
    Bucket all = nullptr;
    Range range;
    take_all([&](const EntryT& entry) {
      Probe::steps(1);
      range.add(entry.time);
      pool_.append(all, entry);
    });
    top_ = all;
    top_range_ = range;
  }

  /// Refines what crowds the front; stragglers stay in its side heap.
  void split_front() {
    Bucket crowd = nullptr;
    Bucket stragglers = nullptr;
    front_.take_back([&](const EntryT& entry) {
      pool_.append(entry.time < front_start_ ? stragglers : crowd, entry);
    });
    front_.load_side(pool_, stragglers);
    crowd_ = 0;
    if (!open(crowd, front_start_, front_end_)) fill_front();
  }

  void fill_front() {
    while (rung_count_ > 0 ? !open_next_bucket() : !open_top()) {
    }
  }

  /// These three return whether the front has got events. If not, there is a rung to look at.
  bool open_top() {
    const Bucket bucket = top_;
    const Range range = top_range_;
    top_ = nullptr;
    top_range_ = {};
    ladder_end_ = range.max;
    return open(bucket, range.min, range.max);
  }

  bool open_next_bucket() {
    Rung& rung = *rungs_[rung_count_ - 1];
    const std::size_t first = rung.current;
    while (rung.current < rung.bucket_count && rung.buckets[rung.current] == nullptr) {
      ++rung.current;
    }
    Probe::steps(rung.current - first + 1);
    if (rung.current == rung.bucket_count) {
      --rung_count_;
      return false;
    }
    const std::size_t i = rung.current++;
    const Bucket bucket = rung.buckets[i];
    rung.buckets[i] = nullptr;
    if (rung.current == rung.bucket_count) --rung_count_;
    return open(bucket, rung.first_tick(i), rung.last_tick(i));
  }

  /// Opens a bucket of events in [start, end], where `end` is where the next rung's range begins or
  /// the ladder ends.
  bool open(Bucket bucket, std::int64_t start, std::int64_t end) {
    const std::size_t count = Pool::count(bucket);
    Probe::steps(count);
    front_start_ = start;
    front_end_ = end;
    if (count <= Front::kLoadLimit) {
      front_.load(pool_, bucket);
      return true;
    }
    Range range;
    Pool::for_each(bucket, [&](const EntryT& entry) { range.add(entry.time); });
    Rung& rung = add_rung(range, end, count);
    if (range.min == range.max) {
      front_.load_side(pool_, bucket);
      front_start_ = front_end_ = range.min;
      return true;  // the rung takes what is pushed behind this instant
    }
    pool_.consume(bucket, [&](const EntryT& entry) {
      pool_.append(rung.buckets[rung.index(entry.time)], entry);
    });
    return false;
  }

  Rung& add_rung(Range range, std::int64_t end, std::size_t count) {
    Rung& rung = next_rung();
    const std::uint64_t length = Rung::distance(range.min, range.max);
    const auto width = static_cast<unsigned>(std::bit_width(length));
    const auto wanted = static_cast<unsigned>(std::bit_width(count / kBucketTarget));
    rung.start = range.min;
    rung.end = end;
    rung.shift = width - std::min({width, std::max(wanted, 2u), kMaxRungBits});
    rung.bucket_count = static_cast<std::size_t>(length >> rung.shift) + 1;
    rung.current = 0;
    return rung;
  }

  /// Hands over all entries, in any order, and sets all but the size to the start.
  template <class F>
  void take_all(F f) {
    front_.take_back(f);
    pool_.consume(std::exchange(top_, nullptr), f);
    for (; rung_count_ > 0; --rung_count_) {
      for (Bucket& bucket : rungs_[rung_count_ - 1]->buckets) {
        pool_.consume(std::exchange(bucket, nullptr), f);
      }
    }
    forget_ranges();
  }

  /// Only with nothing in the ladder.
  void forget_ranges() {
    rung_count_ = 0;
    top_range_ = {};
    ladder_end_ = front_start_ = front_end_ = kMinTime;
    crowd_ = stragglers_ = 0;
  }

  std::int64_t ladder_end_ = kMinTime;   // what is later goes to the top
  std::int64_t front_end_ = kMinTime;    // what is not later goes to the front
  std::int64_t front_start_ = kMinTime;  // what is earlier is a straggler
  Bucket top_ = nullptr;
  Range top_range_;
};

}  // namespace orrery::pending
