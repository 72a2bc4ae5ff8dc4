// SPDX-License-Identifier: Apache-2.0
//
// The people at a location. Everybody has a slot, which a departure names, so that its event is 4
// bytes and nobody has to be searched for. Beside the slots lie the numbers of those who are
// susceptible, for a random choice of one, and an agenda of the changes of stage that fall into a
// stay. Whoever leaves before that is not on the agenda: the agenda never holds what is out of
// date, and most of the time nothing at all. All operations take constant time, but those of the
// agenda, which is a heap. 32 bytes a person, and 4 if susceptible.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "orrery/orrery.h"
#include "person.h"

namespace epidemic {

class Crowd {
 public:
  using Slot = std::uint32_t;

  void reserve(std::size_t people) {
    stays_.reserve(people);
    susceptible_.reserve(people);
  }

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
  Slot susceptible(std::uint64_t number) const { return susceptible_[number]; }

  /// The next change of stage of somebody who is still here then; Time::max() if there is none.
  orrery::Time next_change() const {
    return agenda_.empty() ? orrery::Time::max() : agenda_.front().time;
  }
  /// Takes the next change from the agenda and returns whose it is.
  Slot take_change();

  template <class Visit>
  void for_each(const Visit& visit) const {
    for (const Stay& stay : stays_)
      if (stay.occupied) visit(stay.person);
  }

 private:
  struct Stay {
    Person person;
    orrery::Time leaves;
    std::uint32_t place = 0;  ///< among the susceptible; of an empty slot: the next empty one
    std::uint32_t occupied = 0;
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

  void count_in(Slot slot);
  void count_out(Slot slot);
  void note_change(Slot slot);

  std::vector<Stay> stays_;
  std::vector<Slot> susceptible_;
  std::vector<Change> agenda_;  ///< a heap, the earliest in front
  std::array<std::uint32_t, kStages> counts_{};
  std::uint32_t present_ = 0;
  Slot empty_ = kNone;
};

inline Crowd::Slot Crowd::enter(const Person& person, orrery::Time leaves) {
  Slot slot = empty_;
  if (slot == kNone) {
    slot = static_cast<Slot>(stays_.size());
    stays_.emplace_back();
  } else {
    empty_ = stays_[slot].place;
  }
  stays_[slot] = {person, leaves, 0, 1};
  ++present_;
  count_in(slot);
  note_change(slot);
  return slot;
}

inline Person Crowd::leave(Slot slot) {
  count_out(slot);
  --present_;
  stays_[slot].occupied = 0;
  stays_[slot].place = empty_;
  empty_ = slot;
  return stays_[slot].person;
}

inline void Crowd::prolong(Slot slot, orrery::Time leaves) {
  stays_[slot].leaves = leaves;
  note_change(slot);
}

template <class Action>
void Crowd::change(Slot slot, const Action& action) {
  count_out(slot);
  action(stays_[slot].person);
  count_in(slot);
  note_change(slot);
}

inline Crowd::Slot Crowd::take_change() {
  const Slot slot = agenda_.front().slot;
  std::pop_heap(agenda_.begin(), agenda_.end(), std::greater<>{});
  agenda_.pop_back();
  return slot;
}

inline void Crowd::count_in(Slot slot) {
  Stay& stay = stays_[slot];
  ++counts_[index_of(stay.person.stage)];
  if (stay.person.stage != Stage::susceptible) return;
  stay.place = static_cast<std::uint32_t>(susceptible_.size());
  susceptible_.push_back(slot);
}

/// The last of the susceptible takes the place of the one that goes.
inline void Crowd::count_out(Slot slot) {
  const Stay& stay = stays_[slot];
  --counts_[index_of(stay.person.stage)];
  if (stay.person.stage != Stage::susceptible) return;
  const Slot last = susceptible_.back();
  susceptible_.pop_back();
  if (last == slot) return;
  susceptible_[stay.place] = last;
  stays_[last].place = stay.place;
}

inline void Crowd::note_change(Slot slot) {
  const Stay& stay = stays_[slot];
  if (stay.person.changes >= stay.leaves) return;
  agenda_.push_back({stay.person.changes, slot, 0});
  std::push_heap(agenda_.begin(), agenda_.end(), std::greater<>{});
}

}  // namespace epidemic
