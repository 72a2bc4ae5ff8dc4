// SPDX-License-Identifier: Apache-2.0
//
// The pending event set that all engines use, the radix heap, and the reasons. The table has
// nanoseconds of processor time a hold (pop the lowest event, move it into the future, push it), by
// bench/pending_bench.cpp: medians of alternating rounds on a virtual machine with an AMD Zen 5 (1
// MiB of second-level cache a core) that had other work at the time, gcc 12 -O3. The loop without a
// set takes 2 to 5 ns. The lowest rounds were 5 to 25 % below the medians. The ladder queue, after
// Tang, Goh and Thng (ACM TOMACS 15, 2005), was in this folder until 2026-11.
//
//   increments     events    radix   ladder     heap
//   exponential         4       13       15       14
//                      64       18       21       25
//                    8192       18       20       60
//                 100,000       32       42      206
//               1,000,000      103      107      830
//   bimodal          8192       14       19       63
//   Pareto           8192       15       18       55
//   2^0 to 2^40      8192       15       17       62
//   constant         8192       17       16       50
//   crowded ties     8192       22       26       73
//   1 in 16 back     8192       21       24       74
//   bytes an event   8192       25       25       21
//               1,000,000       19       19       23
//
// From 100,000 events on the share of cache misses grows. In all these rows the radix heap is the
// fastest or within a nanosecond of the fastest. It has a lower bound than the ladder on how often
// an event is moved, and its work depends on the bits of the times alone. A choice at run time
// would compile each engine once for each kind of set.
//
// Builds with assertions keep a heap of the keys beside the set and compare each result of `top`
// and `pop` with it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <type_traits>
#include <vector>

#include "core/assert.h"
#include "memory/application_mode.h"
#include "pending/pending_set.h"
#include "pending/radix_heap.h"

namespace orrery::pending {

/// A set beside a heap of copied keys. Events with equal keys come in any order, and events that
/// have left the set may be freed.
template <class Set, class Event>
class ComparedSet {
 public:
  void push(Event* event) {
    {
      const memory::PlatformMode platform;
      keys_.push_back(key_of(event));
      std::push_heap(keys_.begin(), keys_.end(), std::greater<>());
    }
    set_.push(event);
  }
  void push_inline(const Entry<Event>& entry) { push(entry.event); }
  Event* top() {
    Event* const event = set_.top();
    compare(event);
    return event;
  }
  Event* pop() {
    Event* const event = set_.pop();
    compare(event);
    if (event == nullptr) return nullptr;
    std::pop_heap(keys_.begin(), keys_.end(), std::greater<>());
    keys_.pop_back();
    return event;
  }
  template <class F>
  void drain(F&& f) {
    ORRERY_ASSERT(set_.size() == keys_.size(), "a pending event set has what was put in");
    keys_.clear();
    set_.drain(f);
  }
  std::size_t size() const { return set_.size(); }
  bool empty() const { return set_.empty(); }
  std::size_t bytes() const { return set_.bytes(); }
  const Event* upcoming(std::size_t i) const { return set_.upcoming(i); }
  void announce_from(std::size_t size) { set_.announce_from(size); }
  bool announces() const { return set_.announces(); }
  const Event* announced() { return set_.announced(); }

 private:
  static const Key& key_of(const Event* event) { return static_cast<const Key&>(*event); }

  void compare([[maybe_unused]] const Event* event) const {
    ORRERY_ASSERT(event == nullptr ? keys_.empty() : !keys_.empty() && key_of(event) == keys_[0],
                  "a pending event set hands out the lowest key");
  }

  Set set_;
  std::vector<Key> keys_;
};

template <class Event>
using EngineSet =
    std::conditional_t<kAssertions, ComparedSet<RadixHeap<Event>, Event>, RadixHeap<Event>>;

}  // namespace orrery::pending
