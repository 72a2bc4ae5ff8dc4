// SPDX-License-Identifier: Apache-2.0
//
// The people at a location. Everybody has a slot, which a departure names, so that its event is 4
// bytes and nobody has to be searched for. Beside the slots lies an agenda of the changes of stage
// that fall into a stay. Whoever leaves before that is not on it, so it never holds what is out of
// date, and most of the time nothing at all. 24 bytes a slot.
//
// There is no list of the susceptible: one of them is chosen by looking at random slots until one
// is found. That takes slots / susceptible looks on average; as infections come at a rate
// proportional to the susceptible, all looks together are as many as the infectious meet people,
// whoever these are (and doses would be given to anybody). A list would have to be kept with each
// arrival and departure and costs two more cache lines there.
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

  /// Asks the cache for what enter(), or leave() of a slot, will need. With many locations that is
  /// seldom there, and until then there is other work.
  void expect_arrival() const {
    __builtin_prefetch(stays_.data() + (empty_ == kNone ? 0 : empty_), 1);
  }
  void expect_departure(Slot slot) const { __builtin_prefetch(stays_.data() + slot, 1); }

  Slot enter(const Person& person, orrery::Time leaves);
  Person leave(Slot slot);
  /// A stay that goes on. Whoever stays is no longer on the agenda, as departures come after all
  /// changes of the stay.
  void prolong(Slot slot, orrery::Time leaves);

  const Person& person(Slot slot) const { return stays_[slot].person; }
  /// `action(Person&)` may change anything of the person.
  template <class Action>
  void change(Slot slot, const Action& action);

  std::uint32_t present() const { return present_; }
  std::uint32_t count(Stage stage) const { return counts_[index_of(stage)]; }
  /// One of the susceptible, each as likely as any other. There must be one.
  Slot draw_susceptible(orrery::Random& random) const;

  /// The next change of stage of somebody who is still here then; Time::max() if there is none.
  orrery::Time next_change() const {
    return agenda_.empty() ? orrery::Time::max() : agenda_.front().time;
  }
  /// Takes the next change from the agenda and returns whose it is.
  Slot take_change();

  template <class Visit>
  void for_each(const Visit& visit) const {
    for (const Stay& stay : stays_)
      if (is_occupied(stay)) visit(stay.person);
  }

 private:
  struct Stay {
    Person person;
    orrery::Time leaves;  ///< of an empty slot: before the start, by 1 + the next empty slot
  };
  struct Change {
    orrery::Time time;
    Slot slot = 0;
    std::uint32_t unused = 0;
    /// Of two changes at one time the lower slot's is first.
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
  std::vector<Change> agenda_;  ///< a heap, the earliest in front
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
