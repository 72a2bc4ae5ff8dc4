// SPDX-License-Identifier: Apache-2.0
//
// A radix heap with adaptive digits. The highest bit in which an event's time differs from the
// present selects the bucket, so the distribution of times need not be estimated.
//
//              typical                               worst case
//   push       O(1) without unpredictable branches:  O(log n) amortised
//              bit width, table, shift, append
//   pop        O(1) amortised: an event is appended  O(log n) amortised, an event is appended 32
//              two or three times, then sorted       times at most
//              among 48 at most
//   top        as pop; top and pop together pay for a refill of the front once
//   memory     17 to 20 bytes an event, 256 for      the same and 16 an event, where all are at one
//              each bucket in use, 20 KiB at least   instant
//
// The radix heap of Ahuja, Mehlhorn, Orlin and Tarjan, "Faster algorithms for the shortest path
// problem", Journal of the ACM 37 (1990), in its multi-level form, for a signed 64-bit time. As in
// the paper, `base_` is a time not above any event's in the buckets, and the highest digit in which
// an event's time differs from `base_` names its bucket. When the front is empty, the lowest bucket
// is opened and its events move to finer buckets. The differences are:
//  - Digits have no fixed places. Opening a bucket makes a rung: a digit at the highest bits in
//    which the bucket's events differ, as wide as their number requires (4 to 256 buckets). So an
//    event passes few rungs even if the times use 63 bits, and events at scale 1 or at scale 2^40
//    cost the same. A push whose highest difference lies between the digits of two rungs belongs
//    to the bucket that was opened. This bucket is opened again after the inner rung is empty.
//    `rung_of_bit_` gives the rung without a special case.
//  - A bucket of at most 48 events is sorted at once (SortedFront) instead of refined to the end.
//  - Not monotone: an event up to the horizon, the last time that the front has taken over, goes
//    into the front, also a straggler. When stragglers are many compared with the set, it is
//    rebuilt, and their number has paid for that. When other events crowd the front, it becomes a
//    rung.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "pending/announcements.h"
#include "pending/bucket_pool.h"
#include "pending/pending_set.h"
#include "pending/rung_set.h"

namespace orrery::pending {

/// A digit of the times: bits [shift, shift + bits). The root's is the sign.
template <class Event>
struct RadixRung {
  using Bucket = typename BucketPool<Event>::Bucket;
  static constexpr std::size_t kNone = ~std::size_t{0};

  unsigned shift = 63;
  unsigned bits = 1;
  std::array<std::uint64_t, (1u << kMaxRungBits) / 64> in_use{};  // a bit for each bucket
  std::array<Bucket, 1u << kMaxRungBits> buckets{};

  std::size_t digit(std::uint64_t time) const {
    return (time >> shift) & ((std::uint64_t{1} << bits) - 1);
  }

  std::size_t first_in_use() const { return first_in_use_from(0); }

  std::size_t first_in_use_from(std::size_t digit) const {
    std::uint64_t word_mask = ~std::uint64_t{0} << digit % 64;
    for (std::size_t word = digit / 64; word < in_use.size(); ++word) {
      if (const std::uint64_t word_in_use = in_use[word] & word_mask; word_in_use != 0)
        return 64 * word + static_cast<std::size_t>(std::countr_zero(word_in_use));
      word_mask = ~std::uint64_t{0};
    }
    return kNone;
  }

  Bucket take(std::size_t digit) {
    in_use[digit / 64] &= ~(std::uint64_t{1} << (digit % 64));
    return std::exchange(buckets[digit], nullptr);
  }
};

// Digits do not overlap and have kMinDigitBits at least, except the root's and the lowest.
constexpr unsigned kMinDigitBits = 2;
constexpr std::size_t kMaxRadixRungs = 64 / kMinDigitBits + 2;

template <class Event, class Probe = NoProbe>
class RadixHeap
    : public RungSet<RadixHeap<Event, Probe>, RadixRung<Event>, kMaxRadixRungs, Event, Probe> {
  using Rung = RadixRung<Event>;
  using Base = RungSet<RadixHeap, Rung, kMaxRadixRungs, Event, Probe>;
  friend Base;

  using Base::crowd_;
  using Base::front_;
  using Base::kBucketTarget;
  using Base::kCrowd;
  using Base::next_rung;
  using Base::pool_;
  using Base::rung_count_;
  using Base::rungs_;
  using Base::rungs_made_;
  using Base::size_;
  using Base::stragglers_;
  using typename Base::Bucket;
  using typename Base::EntryT;
  using typename Base::Front;
  using typename Base::Pool;
  using Range = TimeRange<std::uint64_t>;

 public:
  RadixHeap() {  // the root alone
    rungs_[rungs_made_++] = std::make_unique<Rung>();
    rung_count_ = 1;
  }

  void push(Event* event) { push_inline(entry_of(event)); }
  /// The same, for the caller that pushes most.
  [[gnu::always_inline]] void push_inline(EntryT entry) {
    const std::uint64_t time = biased(entry.time);
    ++size_;
    if (time <= horizon_) [[unlikely]]
      return push_front(entry, time);
    scatter(entry, time);
  }

  /// Announces events from this size on, for a set that is one of many (announcements.h). Such a set
  /// is left after some hundred events, so it announces small buckets only.
  void announce_from(std::size_t size) {
    announce_from_ = size;
    most_announced_ = Announcements<Event>::kMostInBucketOfMany;
  }
  bool announces() const { return announcements_.any(); }
  const Event* announced() { return announcements_.take(); }

 private:
  /// Times as unsigned numbers in the same order.
  static std::uint64_t biased(std::int64_t time) {
    return static_cast<std::uint64_t>(time) ^ (std::uint64_t{1} << 63);
  }
  static std::uint64_t low_bits(unsigned count) {
    return count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
  }

  [[gnu::always_inline]] void put(Rung& rung, std::size_t digit, EntryT entry) {
    Probe::steps(1);
    if (pool_.append(rung.buckets[digit], entry)) [[unlikely]] {
      rung.in_use[digit / 64] |= std::uint64_t{1} << (digit % 64);
    }
  }

  /// `time` must be beyond the horizon, so it differs from the base.
  [[gnu::always_inline]] void scatter(EntryT entry, std::uint64_t time) {
    const auto highest_bit = static_cast<unsigned>(std::bit_width(time ^ base_)) - 1;
    Rung& rung = *rungs_[rung_of_bit_[highest_bit]];
    put(rung, rung.digit(time), entry);
  }

  void push_front(EntryT entry, std::uint64_t time) {
    if (size_ == 1 && time < base_) {  // all earlier events are gone: start anew
      forget_base();
      return scatter(entry, time);
    }
    if (!front_.push(entry)) return;
    if (time < base_) {
      if (++stragglers_ > kCrowd + size_ / 8) rebuild();
    } else if (base_ < horizon_ && ++crowd_ > kCrowd + stragglers_) {
      split_front();
    }
  }

  /// Moves all events back to the root rung.
  void rebuild() {
    Bucket all = nullptr;
    take_all([&](const EntryT& entry) { pool_.append(all, entry); });
    Rung& root = *rungs_[0];
    pool_.consume(all,
                  [&](const EntryT& entry) { put(root, root.digit(biased(entry.time)), entry); });
  }

  /// Moves the events that crowd the front back to the bucket that they came from, to be refined.
  /// Stragglers stay in the side heap.
  void split_front() {
    Bucket stragglers = nullptr;
    Rung& rung = *rungs_[rung_count_ - 1];
    front_.take_back([&](const EntryT& entry) {
      if (biased(entry.time) < base_) {
        pool_.append(stragglers, entry);
      } else {
        put(rung, rung.digit(base_), entry);
      }
    });
    front_.load_side(pool_, stragglers);
    crowd_ = 0;
    fill_front();
  }

  void fill_front() {
    while (!open_next_bucket()) {
    }
  }

  /// Returns whether the front has got events. If not, call again to open another bucket.
  bool open_next_bucket() {
    Rung& rung = *rungs_[rung_count_ - 1];
    const std::size_t digit = rung.first_in_use();
    if (digit == Rung::kNone) {
      drop_rung();
      return false;
    }
    const Bucket bucket = rung.take(digit);
    const std::uint64_t prefix = base_ & ~low_bits(rung.shift + rung.bits);
    base_ = prefix | (static_cast<std::uint64_t>(digit) << rung.shift);
    const std::size_t number = rung_count_ - 1;
    const bool is_front = open(bucket, base_ + low_bits(rung.shift));
    if (size_ >= announce_from_) {
      announce_after(number, digit);
    } else {
      announcements_.clear();
    }
    return is_front;
  }

  /// Called when a bucket of the innermost rung was opened: announces the events behind it in that
  /// rung, unless it lies in a bucket of an outer rung whose next buckets are announced.
  void announce_after(std::size_t number, std::size_t digit) {
    if (!announcements_.any()) announced_rung_ = number;
    if (number != announced_rung_) return;
    const Rung& rung = *rungs_[number];
    announcements_.drop(digit);
    digit = announcements_.last_bucket(digit);
    while (announcements_.wants_more()) {
      digit = rung.first_in_use_from(digit + 1);
      if (digit == Rung::kNone) return;
      const Bucket bucket = rung.buckets[digit];
      const std::size_t count = Pool::count(bucket);
      if (count > most_announced_) return;
      Probe::steps(1);
      announcements_.add(digit, bucket, count);
    }
  }

  /// Opens a bucket of events in [base_, last].
  bool open(Bucket bucket, std::uint64_t last) {
    const std::size_t count = Pool::count(bucket);
    Probe::steps(count);
    if (count <= Front::kLoadLimit) {
      front_.load(pool_, bucket);
      horizon_ = last;
      return true;
    }
    Range range;
    Pool::for_each(bucket, [&](const EntryT& entry) { range.add(biased(entry.time)); });
    if (range.min == range.max) {
      front_.load_side(pool_, bucket);
      base_ = horizon_ = range.min;
      return true;
    }
    Rung& rung = add_rung(range, count);
    pool_.consume(bucket,
                  [&](const EntryT& entry) { put(rung, rung.digit(biased(entry.time)), entry); });
    return false;
  }

  Rung& add_rung(Range range, std::size_t count) {
    const auto width = static_cast<unsigned>(std::bit_width(range.min ^ range.max));
    const auto wanted = static_cast<unsigned>(std::bit_width(count / kBucketTarget));
    Rung& rung = next_rung();
    std::fill_n(rung_of_bit_.begin(), width, static_cast<std::uint8_t>(rung_count_ - 1));
    rung.bits = std::min({std::max(wanted, kMinDigitBits), kMaxRungBits, width});
    rung.shift = width - rung.bits;
    base_ = range.min & ~low_bits(width);
    return rung;
  }

  /// From now on events that the inner rung's bits selected go to the open bucket of the outer
  /// rung.
  void drop_rung() {
    const Rung& rung = *rungs_[--rung_count_];
    std::fill_n(rung_of_bit_.begin(), rung.shift + rung.bits,
                static_cast<std::uint8_t>(rung_count_ - 1));
  }

  /// Calls f(entry) for all entries, in any order, and resets everything but the size.
  template <class F>
  void take_all(F f) {
    front_.take_back(f);
    for (; rung_count_ > 0; --rung_count_) {
      Rung& rung = *rungs_[rung_count_ - 1];
      for (std::size_t digit = rung.first_in_use(); digit != Rung::kNone;
           digit = rung.first_in_use()) {
        pool_.consume(rung.take(digit), f);
      }
    }
    forget_base();
  }

  /// Call only while the front and the rungs are empty.
  void forget_base() {
    rung_count_ = 1;
    rung_of_bit_.fill(0);
    base_ = horizon_ = 0;
    announcements_.clear();
    crowd_ = stragglers_ = 0;
  }

  std::uint64_t base_ = 0;     // earlier events are stragglers
  std::uint64_t horizon_ = 0;  // events not later go to the front
  std::array<std::uint8_t, 64> rung_of_bit_{};
  Announcements<Event> announcements_;
  std::size_t announced_rung_ = 0;  // whose buckets are announced
  std::size_t announce_from_ = kAnnounceFrom;
  std::size_t most_announced_ = Announcements<Event>::kMostInBucket;
};

}  // namespace orrery::pending
