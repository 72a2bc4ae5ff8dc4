// SPDX-License-Identifier: Apache-2.0
//
// The LP of the traffic model: an intersection, the stop lines of the links that lead to it, and
// the vehicles that start there. A vehicle that finds its stop line free passes at once and costs
// one event a link; one that has to wait is kept in the line's queue and costs a second one.
#pragma once

#include <cstdint>
#include <vector>

#include "model.h"
#include "orrery/orrery.h"

namespace traffic {

/// A vehicle comes to the stop line.
struct Arrival {
  Vehicle vehicle;
};
/// A vehicle that had to wait crosses the stop line.
struct Crossing {
  Vehicle vehicle;
};
/// The next vehicle starts here.
struct Departure {};

static_assert(orrery::event_payload_is_hashed<Arrival> &&
              orrery::event_payload_is_hashed<Crossing>);

class Intersection final
    : public orrery::LogicalProcess<Intersection, Arrival, Crossing, Departure> {
 public:
  Intersection(const TrafficModel& model, std::uint32_t node);

  void start(orrery::Context& context) override;
  void handle(orrery::Context& context, const Arrival& arrival);
  void handle(orrery::Context& context, const Crossing& crossing);
  void handle(orrery::Context& context, const Departure& departure);
  void finish(orrery::FinalContext& context) override;

 private:
  /// What changes at the stop line of an incoming link.
  struct Line {
    orrery::Time next_crossing;    ///< of the next vehicle to arrive: not before
    orrery::Time changed;          ///< when the queue last changed
    std::uint64_t wait_ticks = 0;  ///< of all vehicles so far: the integral of the queue's length
    std::uint64_t volume = 0;      ///< vehicles that have crossed
    std::uint32_t waiting = 0;     ///< vehicles in the queue now
    std::uint32_t longest = 0;

    void count_wait(orrery::Time now);
  };

  void go_on(orrery::Context& context, const Vehicle& vehicle);
  void enter_next_link(orrery::Context& context, Vehicle vehicle);
  void end_trip(orrery::Context& context, const Vehicle& vehicle);
  void schedule_departure(orrery::Context& context);
  std::uint32_t choose_destination(orrery::Context& context) const;
  void report_line(orrery::FinalContext& context, std::uint32_t approach);
  void report_totals(orrery::FinalContext& context) const;

  const TrafficModel& model_;
  std::vector<Line> lines_;
  std::uint64_t departures_ = 0;
  std::uint64_t late_ = 0;
};

}  // namespace traffic
