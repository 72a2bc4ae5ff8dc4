// SPDX-License-Identifier: Apache-2.0
//
// The LP of the traffic model: an intersection, the stop lines of its incoming links, and the
// vehicles that start there. A vehicle that finds its stop line free passes at once and costs one
// event a link. A vehicle that has to wait is kept in the line's queue and costs a second event.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "model.h"
#include "orrery/orrery.h"

namespace traffic {

/// A vehicle arrives at the stop line.
struct Arrival {
  Vehicle vehicle;
};
/// A vehicle that had to wait crosses the stop line.
struct Crossing {
  Vehicle vehicle;
};
/// The next vehicle starts here.
struct Departure {};
/// Time to send reports (CostReport) to the upstream neighbours (routes=adaptive).
struct ReportDue {};
/// A step of the table `course` ends.
struct StepEnd {};

static_assert(orrery::event_payload_is_hashed<Arrival> &&
              orrery::event_payload_is_hashed<Crossing>);

class Intersection final : public orrery::LogicalProcess<Intersection, Arrival, Crossing, Departure,
                                                         ReportDue, CostReport, StepEnd> {
 public:
  Intersection(const TrafficModel& model, std::uint32_t node);

  void start(orrery::Context& context) override;
  void handle(orrery::Context& context, const Arrival& arrival);
  void handle(orrery::Context& context, const Crossing& crossing);
  void handle(orrery::Context& context, const Departure& departure);
  void handle(orrery::Context& context, const ReportDue& due);
  void handle(orrery::Context& context, const CostReport& report);
  void handle(orrery::Context& context, const StepEnd& end);
  void finish(orrery::FinalContext& context) override;

 private:
  /// Over all vehicles that came to the stop lines so far, including those that still wait.
  struct Totals {
    double meters = 0, seconds = 0;
  };
  /// For the table `course`: totals at the end of the last step, and numbers of trips so far.
  struct Course {
    Totals totals;
    std::uint64_t started = 0, late = 0, finished_before = 0, finished = 0;
  };
  /// The state of the stop line of an incoming link.
  struct Line {
    orrery::Time next_crossing;    ///< earliest crossing of the next vehicle to arrive
    orrery::Time changed;          ///< when the queue last changed
    std::uint64_t wait_ticks = 0;  ///< of all vehicles so far: integral of the queue length
    std::uint64_t volume = 0;      ///< vehicles that have crossed
    std::uint32_t waiting = 0;     ///< vehicles in the queue now
    std::uint32_t longest = 0;

    void count_wait(orrery::Time now);
  };

  void go_on(orrery::Context& context, const Vehicle& vehicle);
  void enter_next_link(orrery::Context& context, Vehicle vehicle);
  void end_trip(orrery::Context& context, const Vehicle& vehicle);
  std::uint32_t chosen_road(std::uint32_t self, const Vehicle& vehicle) const;
  std::uint32_t wait_now(const orrery::Context& context, std::uint32_t approach) const;
  void send_report(orrery::Context& context, std::uint32_t approach, CostReport report) const;
  void schedule_departure(orrery::Context& context);
  void schedule_by_profile(orrery::Context& context, orrery::Duration gap);
  std::uint32_t choose_destination(orrery::Context& context) const;
  void report_line(orrery::FinalContext& context, std::uint32_t approach);
  void report_totals(orrery::FinalContext& context) const;
  Totals totals(std::uint32_t node) const;
  void emit_step(orrery::OutputContext& context);

  const TrafficModel& model_;
  std::vector<Line> lines_;
  std::uint64_t departures_ = 0;
  std::uint64_t late_ = 0;
  orrery::Duration elapsed_;            ///< time on the clock of departures (profile.h)
  std::unique_ptr<Guidance> guidance_;  ///< if routes=adaptive
  std::unique_ptr<Course> course_;      ///< if interval > 0
};

}  // namespace traffic
