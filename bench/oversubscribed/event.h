// SPDX-License-Identifier: Apache-2.0
//
// Events of the small simulators that share a machine, and what handlers make of them. An event's
// number is made of its cause's, so whatever a handler draws and sends follows from the event and
// its LP's state alone: the same in whatever process it is executed, and each time again.
#pragma once

#include <cmath>
#include <cstdint>
#include <tuple>
#include <vector>

namespace oversubscribed {

using Ticks = std::int64_t;
inline constexpr Ticks kNever = (Ticks{1} << 60) - 2;  // orrery/llf.h has room for it

inline std::uint64_t mix(std::uint64_t x) {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

struct Event {
  Ticks time;
  std::uint64_t number;  ///< no two events of a run have one
  std::uint32_t lp;
  std::uint16_t kind;     ///< the model's
  std::uint16_t cancels;  ///< an antimessage
  std::uint64_t data;     ///< the model's
};

/// The one order of events, wherever they come from.
struct Earlier {
  bool operator()(const Event& a, const Event& b) const {
    return std::tie(a.time, a.number) < std::tie(b.time, b.number);
  }
};

/// Random numbers of an event.
class Draws {
 public:
  explicit Draws(const Event& event) : state_(event.number) {}
  double uniform() {
    state_ += 0x9e3779b97f4a7c15;
    return static_cast<double>(mix(state_) >> 11) * 0x1p-53;
  }
  bool happens(double probability) { return uniform() < probability; }
  Ticks exponential(Ticks mean) {
    return static_cast<Ticks>(-std::log1p(-uniform()) * static_cast<double>(mean));
  }
  std::uint32_t below(std::uint32_t bound) {
    return static_cast<std::uint32_t>(uniform() * static_cast<double>(bound));
  }

 private:
  std::uint64_t state_;
};

/// What an event sends. What would come at the end or later is nothing: nobody would execute it.
class Sends {
 public:
  explicit Sends(Ticks end) : end_(end) {}

  void begin(const Event& cause) {
    cause_ = cause;
    count_ = 0;
    made_.clear();
  }
  void to(std::uint32_t lp, Ticks delay, std::uint16_t kind = 0, std::uint64_t data = 0) {
    // Of all that tells the cause from others, also from those that a rollback has taken back.
    const std::uint64_t cause =
        mix(mix(cause_.number + static_cast<std::uint64_t>(cause_.time)) + cause_.lp);
    const std::uint64_t number = mix(cause + ++count_ * 0x9e3779b97f4a7c15);
    if (cause_.time + delay < end_)
      made_.push_back({cause_.time + delay, number, lp, kind, 0, data});
  }
  const std::vector<Event>& made() const { return made_; }

 private:
  const Ticks end_;
  Event cause_{};
  std::uint64_t count_ = 0;
  std::vector<Event> made_;
};

}  // namespace oversubscribed
