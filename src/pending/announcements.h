// SPDX-License-Identifier: Apache-2.0
//
// Announces the events behind the front of a bucketed pending set, so that engines can prefetch
// further ahead than the front reaches.
//
// With more LPs than the caches hold, an event is a chain of cache misses: the event names its
// receiver, and the receiver's record leads to the object. Each link must be prefetched some events
// before the next one can be. A front of a dozen events, of which the first is needed at once,
// leaves no time for that. The buckets behind it do: the order of their events is not known yet,
// but they will come within the next few dozen pops.
//
// So when a bucket is opened, the buckets behind it are chosen until kAhead events are known. If the
// opened bucket becomes a rung of its own, the known buckets stay those behind it: a rung of a few
// dozen events ends before it could announce most of them. Each step prefetches one event, since a
// prefetch stalls the processor while it looks up the page. The event is announced kLead steps later,
// so that a caller that reads the event to prefetch more does not wait. This costs about 12 ns an
// event. Sets below kAnnounceFrom, and the data that they lead to, fit in the cache or nearly, and
// announce nothing. Measured on PHOLD: announcing lost 10 % with 8192 events, gained 20 % with 20,000
// and 90 % with 60,000. Of a million events, 81 in a hundred were announced while only buckets of the
// innermost rung were known, and 61 of half a million; now nearly all are.
//
// An announced event is always in the set. Events leave the buckets only when their bucket is opened,
// which drops the bucket here first, or by a reorganisation, which clears everything here.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "pending/bucket_pool.h"

namespace orrery::pending {

/// Number of events in a set from which on it announces events.
constexpr std::size_t kAnnounceFrom = 16384;

template <class Event>
class Announcements {
  using Pool = BucketPool<Event>;
  using Bucket = typename Pool::Bucket;

 public:
  /// Events to know beyond the opened bucket, if there are so many.
  static constexpr std::size_t kAhead = 64;
  /// Larger buckets are not announced: their events may be far in the future.
  static constexpr std::size_t kMostInBucket = 256;
  /// In a set that is one of many. (A million LPs in windows of the conservative engine, a tenth of
  /// the events in each: 256 made them 0.90 times as fast.)
  static constexpr std::size_t kMostInBucketOfMany = 48;

  /// Whether any events are known.
  bool any() const { return first_ != end_; }

  /// One step: prefetches an event, and returns the event prefetched kLead steps before, or
  /// nullptr.
  const Event* take() {
    if (asked_ == end_) return taken_ == end_ ? nullptr : asked_events_[taken_++ % kAsked];
    do {
      ask();
    } while (asked_ - taken_ <= kLead && asked_ != end_);
    return asked_ - taken_ > kLead ? asked_events_[taken_++ % kAsked] : nullptr;
  }

  void clear() {
    bucket_first_ = bucket_asked_ = bucket_end_;
    first_ = taken_ = asked_ = end_;
  }

  /// Call when this bucket is opened.
  void drop(std::size_t bucket) {
    if (bucket_first_ == bucket_end_ || at(bucket_first_).number != bucket) return;
    first_ += at(bucket_first_++).count;
    taken_ = std::max(taken_, first_);
    asked_ = std::max(asked_, first_);
    bucket_asked_ = std::max(bucket_asked_, bucket_first_);
  }

  bool wants_more() const { return end_ - first_ < kAhead; }
  /// The bucket that was added last; `otherwise` if there is none.
  std::size_t last_bucket(std::size_t otherwise) const {
    return bucket_first_ == bucket_end_ ? otherwise : at(bucket_end_ - 1).number;
  }
  /// The events that the bucket has now become known.
  void add(std::size_t number, Bucket bucket, std::size_t count) {
    Pool::prefetch_last(bucket);
    at(bucket_end_++) = {static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(count),
                         bucket};
    end_ += count;
  }

 private:
  struct Known {
    std::uint32_t number, count;
    Bucket unasked;  ///< its entries that are not prefetched
  };
  static constexpr std::size_t kLead = 16;
  static constexpr std::size_t kAsked = 32;
  static constexpr std::size_t kBuckets = 64;
  static_assert(kLead < kAsked && kAhead <= kBuckets);

  Known& at(std::uint64_t place) { return buckets_[place % kBuckets]; }
  const Known& at(std::uint64_t place) const { return buckets_[place % kBuckets]; }

  void ask() {
    Bucket& unasked = at(bucket_asked_).unasked;
    const Event* const event = Pool::take_last(unasked).event;
    if (unasked == nullptr) ++bucket_asked_;
    __builtin_prefetch(event, 1);
    asked_events_[asked_++ % kAsked] = event;
  }

  // Places in the sequence of all events that were ever known. first_ <= taken_ <= asked_ <= end_.
  std::uint64_t first_ = 0;
  std::uint64_t taken_ = 0;
  std::uint64_t asked_ = 0;
  std::uint64_t end_ = 0;
  // The same for buckets.
  std::uint64_t bucket_first_ = 0;
  std::uint64_t bucket_asked_ = 0;
  std::uint64_t bucket_end_ = 0;
  std::array<const Event*, kAsked> asked_events_;  ///< a ring, by place
  std::array<Known, kBuckets> buckets_;            ///< a ring, by place
};

}  // namespace orrery::pending
