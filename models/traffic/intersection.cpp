// SPDX-License-Identifier: Apache-2.0
//
// The handlers of an intersection (see intersection.h).
#include "intersection.h"

#include <algorithm>

namespace traffic {

using orrery::Context;
using orrery::Duration;
using orrery::FinalContext;
using orrery::Time;

namespace {

constexpr std::uint64_t kGoldenRatio = 0x9e3779b97f4a7c15u;  // of 2^64

/// The upper 53 bits as a number in [0, 1).
double unit_interval(std::uint64_t bits) {
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

}  // namespace

Intersection::Intersection(const TrafficModel& model, std::uint32_t node)
    : model_(model), lines_(model.net.stop_lines_of(node).size()) {}

// ---- Driving -----------------------------------------------------------------------------------

void Intersection::handle(Context& context, const Arrival& arrival) {
  const std::uint32_t approach = arrival.vehicle.approach;
  const StopLine& constants = model_.net.stop_lines_of(context.self())[approach];
  Line& line = lines_[approach];
  const Time now = context.now();
  Time crossing = std::max(now, line.next_crossing);
  if (model_.signals) {
    const Signal signal = model_.signal(context.self(), constants);
    crossing = signal.green_from(crossing);
    line.next_crossing = signal.after(crossing, constants.headway);
  } else {
    line.next_crossing = crossing + constants.headway;
  }
  if (crossing == now) {
    ++line.volume;
    go_on(context, arrival.vehicle);
    return;
  }
  line.count_wait(now);
  line.longest = std::max(line.longest, ++line.waiting);
  context.schedule(context.self(), crossing - now, Crossing{arrival.vehicle});
}

void Intersection::handle(Context& context, const Crossing& crossing) {
  Line& line = lines_[crossing.vehicle.approach];
  line.count_wait(context.now());
  --line.waiting;
  ++line.volume;
  go_on(context, crossing.vehicle);
}

void Intersection::go_on(Context& context, const Vehicle& vehicle) {
  if (vehicle.destination == context.self())
    end_trip(context, vehicle);
  else
    enter_next_link(context, vehicle);
}

void Intersection::enter_next_link(Context& context, Vehicle vehicle) {
  const Road& road = model_.net.roads[model_.next_road(context.self(), vehicle)];
  vehicle.approach = road.approach;
  ++vehicle.links;
  context.schedule(road.to, road.free_flow, Arrival{vehicle});
}

void Intersection::end_trip(Context& context, const Vehicle& vehicle) {
  const Duration time = context.now() - vehicle.departure;
  const Duration free_flow = model_.free_flow(vehicle.origin, vehicle.destination);
  context.record(model_.trip_time, time.to_seconds());
  context.record(model_.trip_delay, (time - free_flow).to_seconds());
  if (2 * time > 3 * free_flow) ++late_;
  if (model_.trips_table) {
    context.emit(model_.trips, Network::label(vehicle.origin), Network::label(vehicle.destination),
                 vehicle.departure.to_seconds(), context.now().to_seconds(), vehicle.links);
  }
}

void Intersection::Line::count_wait(Time now) {
  wait_ticks += waiting * static_cast<std::uint64_t>((now - changed).ticks());
  changed = now;
}

// ---- Departing ---------------------------------------------------------------------------------

void Intersection::start(Context& context) {
  schedule_departure(context);
}

void Intersection::handle(Context& context, const Departure&) {
  Vehicle vehicle{context.now(), context.self(), choose_destination(context), 0, 0};
  ++departures_;
  enter_next_link(context, vehicle);
  schedule_departure(context);
}

/// Poisson: exponential gaps. Even: equal gaps, the first one a part of it that differs from origin
/// to origin, so that the network does not beat in step.
void Intersection::schedule_departure(Context& context) {
  const double trips = model_.trips_from(context.self());
  if (!(trips > 0)) return;
  const Duration period = model_.period;
  const Duration mean = Duration::from_seconds(period.to_seconds() / trips);
  Duration gap = mean;
  if (!model_.even_departures())
    gap = context.random().exponential(mean);
  else if (departures_ == 0)
    gap = Duration::from_seconds(mean.to_seconds() *
                                 unit_interval(kGoldenRatio * (context.self() + 1)));
  if (gap < Time::zero() + period - context.now())
    context.schedule(context.self(), gap, Departure{});
}

/// Even departures take the multiples of the golden ratio modulo 1, which fill the unit interval as
/// evenly as any sequence does (Knuth, "The Art of Computer Programming" 3, section 6.4): each
/// destination gets its share of any number of consecutive vehicles, to within a few.
std::uint32_t Intersection::choose_destination(Context& context) const {
  const double share = model_.even_departures() ? unit_interval(kGoldenRatio * (departures_ + 1))
                                                : context.random().uniform();
  return model_.destination(context.self(), share);
}

// ---- Reporting ---------------------------------------------------------------------------------

void Intersection::finish(FinalContext& context) {
  context.state(departures_);
  context.state(late_);
  for (std::uint32_t approach = 0; approach < lines_.size(); ++approach)
    report_line(context, approach);
  report_totals(context);
  if (!model_.net.points.empty()) {
    const Point point = model_.net.points[context.self()];
    context.emit(model_.nodes, Network::label(context.self()), point.x, point.y);
  }
}

void Intersection::report_line(FinalContext& context, std::uint32_t approach) {
  Line& line = lines_[approach];
  line.count_wait(std::max(context.now(), line.changed));
  context.state(line.next_crossing);
  context.state(line.wait_ticks);
  context.state(line.volume);
  context.state(line.longest);
  context.state(line.waiting);

  const std::uint32_t road = model_.net.stop_lines_of(context.self())[approach].road;
  const RoadFacts& facts = model_.net.facts[road];
  const std::uint64_t vehicles = line.volume + line.waiting;
  const double wait_s = static_cast<double>(line.wait_ticks) * 1e-9;
  context.emit(model_.links, Network::label(facts.from), Network::label(context.self()),
               line.volume, vehicles == 0 ? 0.0 : wait_s / static_cast<double>(vehicles),
               line.longest, line.waiting, facts.capacity_per_hour, facts.lanes, facts.length_m,
               model_.net.roads[road].free_flow.to_seconds());
}

/// One value for each intersection, and none for those without traffic.
void Intersection::report_totals(FinalContext& context) const {
  double meters = 0, seconds = 0;
  std::uint64_t waiting = 0;
  const auto stop_lines = model_.net.stop_lines_of(context.self());
  for (std::uint32_t approach = 0; approach < lines_.size(); ++approach) {
    const Line& line = lines_[approach];
    const std::uint32_t road = stop_lines[approach].road;
    const auto vehicles = static_cast<double>(line.volume + line.waiting);
    meters += vehicles * model_.net.facts[road].length_m;
    seconds += vehicles * model_.net.roads[road].free_flow.to_seconds() +
               static_cast<double>(line.wait_ticks) * 1e-9;
    waiting += line.waiting;
  }
  if (departures_ > 0) context.record(model_.started_trips, static_cast<double>(departures_));
  if (late_ > 0) context.record(model_.late_trips, static_cast<double>(late_));
  if (waiting > 0) context.record(model_.queued, static_cast<double>(waiting));
  if (seconds > 0) {
    context.record(model_.distance, meters / 1000.0);
    context.record(model_.drive_time, seconds / 3600.0);
  }
}

}  // namespace traffic
