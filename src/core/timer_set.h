// SPDX-License-Identifier: Apache-2.0
//
// The live timers of an LP, in the LP's own memory, so that a rollback restores the set with the
// LP. A timer has a place in the set, which its event carries (event_header.h) and which holds the
// timer's number: setting, firing and cancelling are a few loads and stores. Free places form a
// linked list through themselves, the last freed first, so a set is as large as its largest number
// of live timers.
//
// Places never move: an event that is undone by its reverse handler restores the bytes that it has
// overwritten, by address (`save`), and frees the pieces that it has added (`shrink`).
#pragma once

#include <cstddef>
#include <cstdint>

namespace orrery {

class TimerSet {
 public:
  TimerSet() = default;
  TimerSet(const TimerSet&) = delete;
  TimerSet& operator=(const TimerSet&) = delete;
  ~TimerSet() { shrink(0); }

  /// Takes a place for a timer. Calls `save(address, bytes)` before each change.
  template <class Save>
  std::uint32_t add(std::uint64_t number, Save&& save) {
    save(this, kCountersBytes);
    std::uint32_t place = used_;
    if (free_ != 0) {
      place = free_ - 1;
    } else if (place == capacity()) {
      grow();
    }
    std::uint64_t& word = *find(place);
    save(&word, sizeof word);
    if (free_ != 0) {
      free_ = static_cast<std::uint32_t>(word >> 1);
    } else {
      ++used_;
    }
    word = live(number);
    return place;
  }
  bool holds(std::uint32_t place, std::uint64_t number) const {
    return place < used_ && *find(place) == live(number);
  }
  /// Removes a timer that the set holds.
  template <class Save>
  void remove(std::uint32_t place, Save&& save) {
    std::uint64_t& word = *find(place);
    save(this, kCountersBytes);
    save(&word, sizeof word);
    word = std::uint64_t{free_} << 1;
    free_ = place + 1;
  }

  /// Number of allocated pieces.
  std::uint32_t pieces() const { return pieces_; }
  /// Frees all but the first `pieces` pieces.
  void shrink(std::uint32_t pieces);

 private:
  /// The first piece has kFirst places, each next one twice as many.
  struct Piece {
    Piece* next;
    std::uint64_t places[];
  };
  static constexpr std::uint32_t kFirst = 6;
  static constexpr std::size_t kCountersBytes = 2 * sizeof(std::uint32_t);

  /// The word of a live timer. A free place holds (next free place + 1) * 2.
  static constexpr std::uint64_t live(std::uint64_t number) { return number << 1 | 1; }
  static constexpr std::uint32_t places_of(std::uint32_t piece) { return kFirst << piece; }
  std::uint32_t capacity() const { return places_of(pieces_) - kFirst; }
  void grow();

  std::uint64_t* find(std::uint32_t place) const {
    Piece* piece = first_;
    for (std::uint32_t places = kFirst; place >= places; places *= 2) {
      place -= places;
      piece = piece->next;
    }
    return &piece->places[place];
  }

  std::uint32_t free_ = 0;  ///< the place that was freed last, plus 1
  std::uint32_t used_ = 0;  ///< places used so far
  std::uint32_t pieces_ = 0;
  Piece* first_ = nullptr;
};

}  // namespace orrery
