// SPDX-License-Identifier: Apache-2.0
//
// The people at a location. Each person has a slot. A departure names the slot, so its event is 4
// bytes and needs no search. Beside the slots lies an agenda: the changes of stage that happen
// before the person leaves. A person who leaves before the change is not on the agenda, so the
// agenda never holds outdated entries and is empty most of the time. A slot takes 24 bytes.
//
// Crowd has no list of susceptible people: draw_susceptible() tries random slots until it finds a
// susceptible person, after slots / susceptible tries on average. Infections come at a rate
// proportional to the susceptible, so the tries in total are as many as the contacts of infectious
// people with anybody (and as the doses, were they given to anybody). A list would change with each
// arrival and departure, which costs two more cache lines.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "orrery/orrery.h"
#include "person.h"

namespace epidemic {

class Crowd {
 public:
  using Slot = std::uint32_t;

  void reserve(std::size_t people) { stays_.reserve(people); }

  /// Prefetches the cache line that enter(), or leave() of a slot, will need. With many locations
  /// the line is seldom in the cache, and the caller has other work until then.
  void expect_arrival() const {
    __builtin_prefetch(stays_.data() + (empty_ == kNone ? 0 : empty_), 1);
  }
  void expect_departure(Slot slot) const { __builtin_prefetch(stays_.data() + slot, 1); }

  Slot enter(const Person& person, orrery::Time leaves);
  Person leave(Slot slot);
  /// Prolongs a stay to `leaves`. The slot has no entry on the agenda at that moment, because a
  /// departure comes after all changes of the stay.
  void prolong(Slot slot, orrery::Time leaves);

  const Person& person(Slot slot) const { return stays_[slot].person; }
  /// `action(Person&)` may change any member of the person.
  template <class Action>
  void change(Slot slot, const Action& action);

  std::uint32_t present() const { return present_; }
  std::uint32_t count(Stage stage) const { return counts_[index_of(stage)]; }
  /// A susceptible person, each with the same probability. At least one must be present.
  Slot draw_susceptible(orrery::Random& random) const;

  /// Time of the next change of stage before the person leaves; Time::max() if there is none.
  orrery::Time next_change() const {
    return agenda_.empty() ? orrery::Time::max() : agenda_.front().time;
  }
  /// Takes the next change from the agenda and returns the slot of its person.
  Slot take_change();

  template <class Visit>
  void for_each(const Visit& visit) const {
    for (const Stay& stay : stays_)
      if (is_occupied(stay)) visit(stay.person);
  }

 private:
  struct Stay {
    Person person;
    orrery::Time leaves;  ///< in an empty slot: -1 - the next empty slot, thus before the start
  };
  struct Change {
    orrery::Time time;
    Slot slot = 0;
    std::uint32_t unused = 0;
    /// Of two changes at one time, the one of the lower slot comes first.
    friend bool operator>(const Change& a, const Change& b) {
      return a.time != b.time ? a.time > b.time : a.slot > b.slot;
    }
  };
  static constexpr Slot kNone = ~Slot{0};

  static bool is_occupied(const Stay& stay) { return stay.leaves >= orrery::Time::zero(); }
  void note_change(Slot slot);

  Slot empty_ = kNone;  ///< the first empty slot
  std::uint32_t present_ = 0;
  std::vector<Stay> stays_;
  std::array<std::uint32_t, kStages> counts_{};
  std::vector<Change> agenda_;  ///< a heap, the earliest change in front
};

inline Crowd::Slot Crowd::enter(const Person& person, orrery::Time leaves) {
  Slot slot = empty_;
  if (slot == kNone) {
    slot = static_cast<Slot>(stays_.size());
    stays_.push_back({person, leaves});
  } else {
    Stay& stay = stays_[slot];
    empty_ = static_cast<Slot>(-1 - stay.leaves.ticks());
    stay = {person, leaves};
  }
  ++present_;
  ++counts_[index_of(person.stage)];
  note_change(slot);
  return slot;
}

inline Person Crowd::leave(Slot slot) {
  Stay& stay = stays_[slot];
  --present_;
  --counts_[index_of(stay.person.stage)];
  stay.leaves = orrery::Time::from_ticks(-1 - std::int64_t{empty_});
  empty_ = slot;
  return stay.person;
}

inline void Crowd::prolong(Slot slot, orrery::Time leaves) {
  stays_[slot].leaves = leaves;
  note_change(slot);
}

template <class Action>
void Crowd::change(Slot slot, const Action& action) {
  Person& person = stays_[slot].person;
  --counts_[index_of(person.stage)];
  action(person);
  ++counts_[index_of(person.stage)];
  note_change(slot);
}

inline Crowd::Slot Crowd::draw_susceptible(orrery::Random& random) const {
  while (true) {
    const auto slot = static_cast<Slot>(random.below(stays_.size()));
    const Stay& stay = stays_[slot];
    if (stay.person.stage == Stage::susceptible && is_occupied(stay)) return slot;
  }
}

inline Crowd::Slot Crowd::take_change() {
  const Slot slot = agenda_.front().slot;
  std::pop_heap(agenda_.begin(), agenda_.end(), std::greater<>{});
  agenda_.pop_back();
  return slot;
}

inline void Crowd::note_change(Slot slot) {
  const Stay& stay = stays_[slot];
  if (stay.person.changes >= stay.leaves) return;
  agenda_.push_back({stay.person.changes, slot, 0});
  std::push_heap(agenda_.begin(), agenda_.end(), std::greater<>{});
}

}  // namespace epidemic
