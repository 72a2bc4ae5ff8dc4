// SPDX-License-Identifier: Apache-2.0
//
// A personal communication system: calls of mobiles in hexagonal cells with a fixed number of
// channels each. The model is call-initiated: mobiles exist only while they have a call (C.
// Carothers, R. Fujimoto, Y.-B. Lin, "A case study in simulating PCS networks using Time Warp",
// PADS 1995). The transmit power follows from the signal-to-interference ratio at call setup and
// hand-off (radio.h), as in the variant with which R. Vitali, A. Pellegrini and F. Quaglia studied
// Time Warp systems. Most events stay in their cell, a few cross to a neighbour. The cost of an
// event and the memory of a cell grow with the calls in progress. README.md has the equations.
//
// A call in a cell has exactly one pending event: its end or its departure to a neighbour,
// whichever is earlier. The event names the channel, so no event holds a pointer.
#include <bit>
#include <cstdint>
#include <memory>
#include <string>

#include "../common/busy_work.h"
#include "channel_set.h"
#include "erlang_b.h"
#include "hex_grid.h"
#include "orrery/orrery.h"
#include "radio.h"

namespace pcs {
namespace {

using orrery::Column;
using orrery::ColumnType;
using orrery::Context;
using orrery::Duration;
using orrery::Metric;
using orrery::Parameter;
using orrery::Time;

struct CallArrival {};
struct CallEnd {
  std::uint32_t channel;
};
struct ResidenceEnd {
  std::uint32_t channel;
};
struct HandOff {
  Call call;
};
struct FadingUpdate {};
struct WarmUpEnd {};

constexpr Duration kDay = Duration::seconds(86'400);

class Pcs final : public orrery::Model {
 public:
  Parameter<std::int64_t> cells{*this,
                                "cells",
                                1024,
                                {.help = "hexagonal cells, in a rectangle as square as possible",
                                 .minimum = 1,
                                 .maximum = 1 << 24}};
  Parameter<std::int64_t> channels{
      *this, "channels", 50, {.help = "channels of each cell", .minimum = 1, .maximum = 1 << 16}};
  Parameter<Duration> inter_arrival{
      *this,
      "inter_arrival",
      Duration::seconds(3),
      {.help = "mean time between new calls in a cell, exponentially distributed",
       .minimum = Duration::microseconds(1),
       .maximum = kDay}};
  Parameter<Duration> call_duration{*this,
                                    "call_duration",
                                    Duration::seconds(120),
                                    {.help = "mean duration of a call, exponentially distributed",
                                     .minimum = Duration::microseconds(1),
                                     .maximum = kDay}};
  Parameter<bool> mobility{
      *this, "mobility", true, {.help = "whether mobiles move from cell to cell"}};
  Parameter<double> fast_share{*this,
                               "fast_share",
                               0.5,
                               {.help = "share of calls from fast mobiles",
                                .minimum = 0.0,
                                .maximum = 1.0,
                                .read_at_use = true}};
  Parameter<Duration> fast_residence{
      *this,
      "fast_residence",
      Duration::seconds(180),
      {.help = "mean time that a fast mobile stays in a cell, exponentially distributed",
       .minimum = Duration::microseconds(1),
       .maximum = kDay,
       .read_at_use = true}};
  Parameter<Duration> slow_residence{*this,
                                     "slow_residence",
                                     Duration::seconds(1800),
                                     {.help = "the same for a slow mobile",
                                      .minimum = Duration::microseconds(1),
                                      .maximum = kDay,
                                      .read_at_use = true}};
  Parameter<Duration> handoff_delay{
      *this,
      "handoff_delay",
      Duration::milliseconds(10),
      {.help = "time between giving up the old channel and asking for the new one; the lookahead",
       .minimum = Duration::zero(),
       .maximum = Duration::seconds(60)}};
  Parameter<Duration> fading_period{
      *this,
      "fading_period",
      Duration::zero(),
      {.help = "time between recalculations of fading and power of all busy channels; 0: never",
       .minimum = Duration::zero(),
       .maximum = kDay}};
  Parameter<double> wanted_sir{*this,
                               "wanted_sir",
                               10.0,
                               {.help = "signal-to-interference ratio that a call needs",
                                .unit = "dB",
                                .minimum = -20.0,
                                .maximum = 60.0}};
  Parameter<double> leakage{*this,
                            "leakage",
                            -40.0,
                            {.help = "power on other channels that disturbs a channel, relative",
                             .unit = "dB",
                             .minimum = -200.0,
                             .maximum = 0.0}};
  Parameter<double> max_power{*this,
                              "max_power",
                              2.0,
                              {.help = "most that a mobile can transmit",
                               .unit = "W",
                               .minimum = Radio::kMinPowerW,
                               .maximum = 100.0}};
  Parameter<std::int64_t> work{
      *this,
      "work",
      0,
      {.help = "busy loop for each call that begins, ends or moves, in steps of about a nanosecond",
       .minimum = 0,
       .maximum = 1'000'000'000}};
  Parameter<Duration> warm_up{
      *this,
      "warm_up",
      Duration::zero(),
      {.help = "start of the run that counts and averages leave out (cells start empty)",
       .minimum = Duration::zero(),
       .maximum = 365 * kDay}};

  // Statistics for each event would be expensive, so counts are recorded once a cell at the end.
  Metric call_seconds{*this, "call_duration", "s", "duration of a call that was completed"};
  Metric power_w{*this, "power", "W", "transmit power at call setup and hand-off"};
  Metric arrivals{*this, "arrivals", "", "new calls of a cell"};
  Metric blocked{*this, "blocked", "", "new calls of a cell that found no channel"};
  Metric completed{*this, "completed", "", "calls that ended regularly in a cell"};
  Metric handoffs{*this, "handoffs", "", "calls that moved into a cell"};
  Metric dropped{*this, "dropped", "", "of these, calls that found no channel"};
  Metric underpowered{*this, "underpowered", "",
                      "calls of a cell that got a channel but too little power for it"};
  Metric busy_channels{*this, "busy_channels", "", "busy channels of a cell, averaged over time"};
  Metric excess_blocked{*this, "excess_blocked", "",
                        "blocked calls of a cell above Erlang's expectation (without hand-offs)"};

  orrery::Table cell_table{*this,
                           "cells",
                           {{"cell", ColumnType::integer},
                            {"x", ColumnType::real, "cell distances"},
                            {"y", ColumnType::real, "cell distances"},
                            {"arrivals", ColumnType::integer},
                            {"blocked", ColumnType::integer},
                            {"handoffs_in", ColumnType::integer},
                            {"handoffs_out", ColumnType::integer},
                            {"dropped", ColumnType::integer},
                            {"completed", ColumnType::integer},
                            {"in_progress", ColumnType::integer},
                            {"mean_busy", ColumnType::real}},
                           "one row a cell at the end of the run"};

  void prepare() override {
    grid_ = HexGrid(static_cast<std::uint32_t>(cells.value()));
    radio_ = {Radio::ratio_of_db(wanted_sir), Radio::ratio_of_db(leakage), max_power};
    erlang_b_ = erlang_b(channel_limit(), offered_load());
  }
  std::uint64_t lp_count() const override { return static_cast<std::uint64_t>(cells.value()); }
  std::unique_ptr<orrery::LogicalProcessBase> create(orrery::LpId id) const override;
  Duration lookahead() const override;
  void communication(orrery::CommunicationGraph& graph) const override;
  Time default_horizon() const override { return Time::zero() + Duration::seconds(3600); }
  void report(orrery::Report& report, Time end) const override;

  const HexGrid& grid() const { return grid_; }
  const Radio& radio() const { return radio_; }
  std::uint32_t channel_limit() const { return static_cast<std::uint32_t>(channels.value()); }
  /// Whether calls can leave their cell. If not, each cell is an independent M/M/c/c system.
  bool has_handoffs() const { return mobility && cells > 1; }
  const Duration& residence(std::uint32_t mobile) const {
    return mobile == kFast ? fast_residence : slow_residence;
  }
  /// In erlang.
  double offered_load() const {
    return call_duration.value().to_seconds() / inter_arrival.value().to_seconds();
  }
  double erlang_b_value() const { return erlang_b_; }

 private:
  void report_erlang_b(orrery::Report& report, double blocking) const;

  HexGrid grid_;
  Radio radio_;
  double erlang_b_ = 0.0;
};

class Cell final : public orrery::LogicalProcess<Cell, CallArrival, CallEnd, ResidenceEnd, HandOff,
                                                 FadingUpdate, WarmUpEnd> {
 public:
  explicit Cell(const Pcs& model) : model_(model) {}
  void start(Context& context) override;
  void finish(orrery::FinalContext& context) override;

  void handle(Context& context, const CallArrival&);
  void handle(Context& context, const CallEnd& end);
  void handle(Context& context, const ResidenceEnd& end);
  void handle(Context& context, const HandOff& handoff);
  void handle(Context& context, const FadingUpdate&);
  void handle(Context& context, const WarmUpEnd&);

 private:
  struct Counts {
    std::uint64_t arrivals = 0, blocked = 0, completed = 0, dropped = 0;
    std::uint64_t handoffs_in = 0, handoffs_out = 0, underpowered = 0;
  };

  void work() const { orrery::models::busy_work(counts_.arrivals, model_.work); }
  void schedule_arrival(Context& context);
  bool full() const { return channels_.busy() == model_.channel_limit(); }
  void admit(Context& context, const Call& call);
  double set_up_radio(Context& context, BusyChannel& record);
  void schedule_departure(Context& context, const Call& call, std::uint32_t channel);
  void complete(Context& context, const Call& call);
  bool warmed_up(const Context& context) const {
    return context.now() >= Time::zero() + model_.warm_up;
  }
  void count_busy_time(Time now);
  void add_state(orrery::FinalContext& context) const;

  const Pcs& model_;
  ChannelSet channels_;
  Counts counts_;
  Time counted_from_;        // end of the warm-up
  Time busy_until_;          // the time up to which busy_ticks_ is computed
  double busy_ticks_ = 0.0;  // integral of busy channels; 65536 channels would fill 63 bits in 39 h
};

// ---- calls --------------------------------------------------------------------------------------

void Cell::start(Context& context) {
  schedule_arrival(context);
  if (model_.warm_up.value() > Duration::zero())
    context.schedule(context.self(), model_.warm_up, WarmUpEnd{});
  const Duration period = model_.fading_period;
  if (period > Duration::zero()) {  // each cell at its own time, not all at once
    const auto ticks = static_cast<std::uint64_t>(period.ticks());
    const auto first = static_cast<std::int64_t>(context.random().below(ticks)) + 1;
    context.schedule(context.self(), Duration::from_ticks(first), FadingUpdate{});
  }
}

void Cell::schedule_arrival(Context& context) {
  context.schedule(context.self(), context.random().exponential(model_.inter_arrival),
                   CallArrival{});
}

void Cell::handle(Context& context, const CallArrival&) {
  work();
  schedule_arrival(context);
  ++counts_.arrivals;
  if (full()) {
    ++counts_.blocked;
    return;
  }
  const std::int64_t now = context.now().ticks();
  Call call{.started_ticks = now, .ends_ticks = now, .mobile = kSlow, .handoffs = 0};
  if (model_.has_handoffs() && context.random().bernoulli(model_.fast_share)) call.mobile = kFast;
  const std::int64_t duration = context.random().exponential(model_.call_duration).ticks();
  if (__builtin_add_overflow(now, duration, &call.ends_ticks))
    call.ends_ticks = Time::max().ticks();  // the engine refuses such an event with an error
  admit(context, call);
}

/// Gives a channel to a new or handed-over call.
void Cell::admit(Context& context, const Call& call) {
  BusyChannel record{.call = call, .gain = 0, .path = 0, .power_w = 0};
  const double power_w = set_up_radio(context, record);
  if (warmed_up(context)) context.record(model_.power_w, power_w);
  count_busy_time(context.now());
  schedule_departure(context, call, channels_.acquire(record));
}

void Cell::schedule_departure(Context& context, const Call& call, std::uint32_t channel) {
  const Duration left = Time::from_ticks(call.ends_ticks) - context.now();
  if (model_.has_handoffs()) {
    const Duration residence = context.random().exponential(model_.residence(call.mobile));
    if (residence < left) {
      context.schedule(context.self(), residence, ResidenceEnd{channel});
      return;
    }
  }
  context.schedule(context.self(), left, CallEnd{channel});
}

void Cell::handle(Context& context, const CallEnd& end) {
  work();
  count_busy_time(context.now());
  complete(context, channels_.release(end.channel));
}

void Cell::complete(Context& context, const Call& call) {
  ++counts_.completed;
  if (!warmed_up(context)) return;
  const Duration duration = Duration::from_ticks(call.ends_ticks - call.started_ticks);
  context.record(model_.call_seconds, duration.to_seconds());
}

void Cell::handle(Context& context, const ResidenceEnd& end) {
  work();
  count_busy_time(context.now());
  HandOff handoff{channels_.release(end.channel)};
  ++handoff.call.handoffs;
  ++counts_.handoffs_out;
  const Neighbours neighbours = model_.grid().neighbours(context.self());
  const LpId next = neighbours[context.random().below(neighbours.size())];
  context.schedule(next, model_.handoff_delay, handoff);
}

void Cell::handle(Context& context, const HandOff& handoff) {
  work();
  ++counts_.handoffs_in;
  if (handoff.call.ends_ticks <= context.now().ticks()) {
    complete(context, handoff.call);  // the call ended between the two channels
  } else if (full()) {
    ++counts_.dropped;
  } else {
    admit(context, handoff.call);
  }
}

// ---- power --------------------------------------------------------------------------------------

/// Draws the mobile's place and fading, and sets its power against the calls in progress. Their
/// power is summed anew each time: a running sum would drift by rounding, and this scan is the
/// typical work of the model.
double Cell::set_up_radio(Context& context, BusyChannel& record) {
  double others_w = 0.0;
  channels_.for_each_busy([&](std::uint32_t, const BusyChannel& other) {
    others_w += orrery::math::product(other.path, other.power_w);
  });
  record.gain = Radio::path_gain(context.random().uniform());
  record.path = record.gain * context.random().exponential(1.0);
  const Radio::Power power = model_.radio().minimum_power(record.path, others_w);
  record.power_w = power.watts;
  if (!power.reached) ++counts_.underpowered;
  return power.watts;
}

/// Draws new fading on all busy channels, then makes one step of power control for all, each
/// against the powers that the others had before the step.
void Cell::handle(Context& context, const FadingUpdate&) {
  context.schedule(context.self(), model_.fading_period, FadingUpdate{});
  double all_w = 0.0;
  channels_.for_each_busy([&](std::uint32_t, BusyChannel& record) {
    record.path = record.gain * context.random().exponential(1.0);
    all_w += orrery::math::product(record.path, record.power_w);
  });
  channels_.for_each_busy([&](std::uint32_t, BusyChannel& record) {
    const double others_w = all_w - orrery::math::product(record.path, record.power_w);
    record.power_w = model_.radio().minimum_power(record.path, others_w).watts;
  });
}

// ---- counts -------------------------------------------------------------------------------------

void Cell::count_busy_time(Time now) {
  busy_ticks_ +=
      orrery::math::product(channels_.busy(), static_cast<double>((now - busy_until_).ticks()));
  busy_until_ = now;
}

void Cell::handle(Context& context, const WarmUpEnd&) {
  counts_ = {};
  counted_from_ = busy_until_ = context.now();
  busy_ticks_ = 0.0;
}

void Cell::finish(orrery::FinalContext& context) {
  count_busy_time(context.now());
  const auto counted = static_cast<double>((context.now() - counted_from_).ticks());
  const double mean_busy = counted > 0 ? busy_ticks_ / counted : 0.0;
  const auto record = [&](const Metric& metric, std::uint64_t count) {
    context.record(metric, static_cast<double>(count), counted_from_);
  };
  record(model_.arrivals, counts_.arrivals);
  record(model_.blocked, counts_.blocked);
  record(model_.completed, counts_.completed);
  record(model_.handoffs, counts_.handoffs_in);
  record(model_.dropped, counts_.dropped);
  record(model_.underpowered, counts_.underpowered);
  context.record(model_.busy_channels, mean_busy, counted_from_);
  if (!model_.has_handoffs()) {
    const double expected =
        orrery::math::product(model_.erlang_b_value(), static_cast<double>(counts_.arrivals));
    context.record(model_.excess_blocked, static_cast<double>(counts_.blocked) - expected,
                   counted_from_);
  }
  const HexGrid& grid = model_.grid();
  context.emit(model_.cell_table, context.self(), grid.x(context.self()), grid.y(context.self()),
               counts_.arrivals, counts_.blocked, counts_.handoffs_in, counts_.handoffs_out,
               counts_.dropped, counts_.completed, channels_.busy(), mean_busy);
  add_state(context);
}

void Cell::add_state(orrery::FinalContext& context) const {
  context.state(counts_);
  context.state(busy_ticks_);
  channels_.for_each_busy([&](std::uint32_t channel, const BusyChannel& record) {
    context.state(channel);
    context.state(record.call);
    context.state(record.gain);
    context.state(record.path);
    context.state(record.power_w);
  });
}

// ---- the model as a whole -----------------------------------------------------------------------

std::unique_ptr<orrery::LogicalProcessBase> Pcs::create(orrery::LpId) const {
  return std::make_unique<Cell>(*this);
}

Duration Pcs::lookahead() const {
  // Without hand-offs no cell sends to another, so any lookahead is valid. 365 days exceeds most
  // runs, and can be added to a time without leaving the clock's range.
  return has_handoffs() ? handoff_delay.value() : 365 * kDay;
}

void Pcs::communication(orrery::CommunicationGraph& graph) const {
  graph.complete();
  if (!has_handoffs()) return;
  for (LpId cell = 0; cell < grid_.cells(); ++cell)
    for (const LpId neighbour : grid_.neighbours(cell))
      graph.connect(cell, neighbour, handoff_delay);
}

double ratio(double part, double whole) {
  return whole > 0 ? part / whole : 0.0;
}

void Pcs::report(orrery::Report& report, Time) const {
  const double new_calls = report.total(arrivals).sum, refused = report.total(blocked).sum;
  const double moves = report.total(handoffs).sum, cut_off = report.total(dropped).sum;
  const double blocking = ratio(refused, new_calls);
  report.value("blocking_probability", blocking, "", "share of new calls that found no channel");
  report.value("dropping_probability", ratio(cut_off, moves), "",
               "share of hand-offs that found no channel");
  report.value("forced_termination", ratio(cut_off, new_calls - refused), "",
               "share of calls that got a channel and were dropped later");
  report.value("handoffs_per_call", ratio(moves, new_calls - refused), "",
               "hand-offs of a call that got a channel");
  report.value("outage_probability",
               ratio(report.total(underpowered).sum, report.total(power_w).count), "",
               "share of channels set up below the wanted signal-to-interference ratio");
  report.value("offered_load", offered_load(), "Erlang", "new calls times duration, in each cell");
  report.value("carried_load", report.total(busy_channels).mean(), "Erlang",
               "busy channels of a cell, averaged over time and cells");
  if (!has_handoffs()) report_erlang_b(report, blocking);
}

/// Without hand-offs the cells are independent copies of M/M/c/c, so their scatter gives the
/// standard error of the simulated blocking. In a stationary system a call is blocked with Erlang's
/// probability B, so (blocked - B * arrivals) of a cell has mean 0. The score is the measured mean
/// in standard errors.
void Pcs::report_erlang_b(orrery::Report& report, double blocking) const {
  report.value("erlang_b", erlang_b_, "", "blocking by Erlang's loss formula");
  const orrery::Summary& excess = report.total(excess_blocked);
  const double cells_counted = static_cast<double>(excess.count);
  const double error = ratio(excess.deviation(), orrery::math::sqrt(cells_counted));
  if (!(error > 0)) return;  // one cell, or no call blocked: no error estimate
  report.value("blocking_error", ratio(error, report.total(arrivals).mean()), "",
               "standard error of blocking_probability, from the scatter of the cells");
  report.value("erlang_b_difference", blocking - erlang_b_, "", "blocking_probability - erlang_b");
  report.value("erlang_b_score", excess.mean() / error, "",
               "the difference in standard errors; within 2 in 95 of 100 stationary runs");
}

ORRERY_MODEL(Pcs, "pcs", "personal communication system: mobile calls in hexagonal cells");

}  // namespace
}  // namespace pcs
