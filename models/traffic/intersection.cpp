// SPDX-License-Identifier: Apache-2.0
//
// The handlers of an intersection (see intersection.h).
#include "intersection.h"

#include <algorithm>

namespace traffic {

using orrery::Context;
using orrery::Duration;
using orrery::FinalContext;
using orrery::OutputContext;
using orrery::Time;

namespace {

constexpr std::uint64_t kGoldenRatio = 0x9e3779b97f4a7c15u;  // of 2^64

/// The upper 53 bits as a number in [0, 1).
double unit_interval(std::uint64_t bits) {
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

}  // namespace

Intersection::Intersection(const TrafficModel& model, std::uint32_t node)
    : model_(model), lines_(model.net.stop_lines_of(node).size()) {
  if (model.kind() == Routes::adaptive)
    guidance_ = std::make_unique<Guidance>(model.guidance(node));
  if (model.interval.value() > Duration::zero()) course_ = std::make_unique<Course>();
}

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
  const std::uint32_t self = context.self();
  const std::uint32_t index = model_.kind() == Routes::free_flow
                                  ? model_.shortest_road(self, vehicle.destination)
                                  : chosen_road(self, vehicle);
  const Road& road = model_.net.roads[index];
  vehicle.approach = road.approach;
  ++vehicle.links;
  context.schedule(road.to, road.free_flow, Arrival{vehicle});
}

/// Not inlined, so that the handler stays short.
[[gnu::noinline]] std::uint32_t Intersection::chosen_road(std::uint32_t self,
                                                          const Vehicle& vehicle) const {
  if (model_.kind() == Routes::grid) return model_.next_grid_road(self, vehicle);
  if (model_.kind() == Routes::equilibrium) return model_.shared_road(self, vehicle);
  const std::uint32_t draw = TrafficModel::draw(self, vehicle);
  return model_.net.out_begin[self] +
         guidance_->choose(vehicle.destination, draw, model_.choice_spread);
}

void Intersection::end_trip(Context& context, const Vehicle& vehicle) {
  const Duration time = context.now() - vehicle.departure;
  const Duration free_flow = model_.free_flow(vehicle.origin, vehicle.destination);
  context.record(model_.trip_time, time.to_seconds());
  context.record(model_.trip_delay, (time - free_flow).to_seconds());
  if (course_) ++course_->finished;
  if (2 * time > 3 * free_flow) ++late_;
  if (model_.trips_table) {
    context.emit(model_.trips, model_.net.label(vehicle.origin),
                 model_.net.label(vehicle.destination), vehicle.departure.to_seconds(),
                 context.now().to_seconds(), vehicle.links);
  }
}

void Intersection::Line::count_wait(Time now) {
  wait_ticks += waiting * static_cast<std::uint64_t>((now - changed).ticks());
  changed = now;
}

// ---- Guidance ----------------------------------------------------------------------------------

void Intersection::handle(Context& context, const ReportDue&) {
  const std::uint32_t zones = model_.net.zone_count;
  for (std::uint32_t first = 0; first < zones; first += CostReport::kZones) {
    CostReport report{0, first, {}};
    for (std::uint32_t i = 0; i < std::min(CostReport::kZones, zones - first); ++i)
      report.time[i] = guidance_->time_to(first + i);
    for (std::uint32_t approach = 0; approach < lines_.size(); ++approach)
      send_report(context, approach, report);
  }
  context.schedule(context.self(), model_.report_interval, ReportDue{});
}

/// `report` has this intersection's own times; the link's time is added. The report takes the
/// link's free-flow time, as a vehicle does, so the lookahead stays the same.
void Intersection::send_report(Context& context, std::uint32_t approach, CostReport report) const {
  const std::uint32_t index = model_.net.stop_lines_of(context.self())[approach].road;
  const std::uint32_t from = model_.net.facts[index].from;
  const Road& road = model_.net.roads[index];
  report.link = index - model_.net.out_begin[from];
  const std::uint32_t link_time =
      Guidance::sum(Guidance::milliseconds(road.free_flow), wait_now(context, approach));
  for (std::uint32_t& time : report.time) time = Guidance::sum(time, link_time);
  context.schedule(from, road.free_flow, report);
}

/// The wait at the stop line of a vehicle that would arrive now, in milliseconds.
std::uint32_t Intersection::wait_now(const Context& context, std::uint32_t approach) const {
  const Time now = context.now();
  Time crossing = std::max(now, lines_[approach].next_crossing);
  if (model_.signals) {
    const StopLine& line = model_.net.stop_lines_of(context.self())[approach];
    crossing = model_.signal(context.self(), line).green_from(crossing);
  }
  return Guidance::milliseconds(crossing - now);
}

void Intersection::handle(Context&, const CostReport& report) {
  guidance_->learn(report);
}

// ---- Departing ---------------------------------------------------------------------------------

void Intersection::start(Context& context) {
  schedule_departure(context);
  if (guidance_) {  // intersections start their reports at different times
    const double part = unit_interval(kGoldenRatio * (context.self() + 1));
    const double first_s = model_.report_interval.value().to_seconds() * part;
    context.schedule(context.self(), Duration::from_seconds(first_s), ReportDue{});
  }
  if (course_) context.schedule(context.self(), model_.interval, StepEnd{});
}

void Intersection::handle(Context& context, const Departure&) {
  Vehicle vehicle{context.now(), context.self(), choose_destination(context), 0, 0};
  ++departures_;
  enter_next_link(context, vehicle);
  schedule_departure(context);
}

/// Poisson departures have exponential gaps. Even departures have equal gaps; the first gap differs
/// between origins, so that vehicles do not start at the same times everywhere.
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
  if (!model_.departure_profile().is_flat()) return schedule_by_profile(context, gap);
  if (gap < Time::zero() + period - context.now())
    context.schedule(context.self(), gap, Departure{});
}

/// `gap`: on the clock of constant rate (profile.h).
void Intersection::schedule_by_profile(Context& context, Duration gap) {
  if (gap >= model_.period.value() - elapsed_) return;
  elapsed_ += gap;
  const Time next = Time::zero() + model_.departure_profile().instant(elapsed_);
  context.schedule(context.self(), next - context.now(), Departure{});
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
  if (guidance_) guidance_->for_each([&](std::uint32_t time) { context.state(time); });
  report_totals(context);
  if (course_) emit_step(context);
  if (!model_.net.points.empty()) {
    const Point point = model_.net.points[context.self()];
    context.emit(model_.nodes, model_.net.label(context.self()), point.x, point.y);
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
  context.emit(model_.links, model_.net.label(facts.from), model_.net.label(context.self()),
               line.volume, vehicles == 0 ? 0.0 : wait_s / static_cast<double>(vehicles),
               line.longest, line.waiting, facts.capacity_per_hour, facts.lanes, facts.length_m,
               model_.net.roads[road].free_flow.to_seconds());
}

Intersection::Totals Intersection::totals(std::uint32_t node) const {
  Totals sum;
  const auto stop_lines = model_.net.stop_lines_of(node);
  for (std::uint32_t approach = 0; approach < lines_.size(); ++approach) {
    const Line& line = lines_[approach];
    const std::uint32_t road = stop_lines[approach].road;
    const auto vehicles = static_cast<double>(line.volume + line.waiting);
    sum.meters += vehicles * model_.net.facts[road].length_m;
    sum.seconds += vehicles * model_.net.roads[road].free_flow.to_seconds() +
                   static_cast<double>(line.wait_ticks) * 1e-9;
  }
  return sum;
}

/// Records one value for each intersection that has traffic.
void Intersection::report_totals(FinalContext& context) const {
  const Totals sum = totals(context.self());
  std::uint64_t waiting = 0;
  for (const Line& line : lines_) waiting += line.waiting;
  if (departures_ > 0) context.record(model_.started_trips, static_cast<double>(departures_));
  if (late_ > 0) context.record(model_.late_trips, static_cast<double>(late_));
  if (waiting > 0) context.record(model_.queued, static_cast<double>(waiting));
  if (sum.seconds > 0) {
    context.record(model_.distance, sum.meters / 1000.0);
    context.record(model_.drive_time, sum.seconds / 3600.0);
  }
}

// ---- The course of the run ---------------------------------------------------------------------

void Intersection::handle(Context& context, const StepEnd&) {
  emit_step(context);
  context.schedule(context.self(), model_.interval, StepEnd{});
}

/// Emits the changes since the last step; emits nothing if nothing has changed.
void Intersection::emit_step(OutputContext& context) {
  for (Line& line : lines_) line.count_wait(std::max(context.now(), line.changed));
  const Totals sum = totals(context.self());
  Course& before = *course_;
  if (sum.seconds > before.totals.seconds || departures_ > before.started) {
    context.emit(model_.course, context.now().to_seconds(), model_.net.label(context.self()),
                 (sum.meters - before.totals.meters) / 1000.0,
                 (sum.seconds - before.totals.seconds) / 3600.0, departures_ - before.started,
                 before.finished - before.finished_before, late_ - before.late);
  }
  before = {sum, departures_, late_, before.finished, before.finished};
}

}  // namespace traffic
