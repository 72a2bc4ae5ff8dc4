// SPDX-License-Identifier: Apache-2.0
//
// Modules that do nothing but schedule their own next expanded event, so that the run time is the
// overhead of the engine. After the benchmark for the overhead of Horizon's scheduling (G. Kunz, M.
// Stoffers, J. Gross, K. Wehrle, "Runtime efficient event scheduling in multi-threaded network
// simulation", OMNeT++ workshop of SIMUTools 2011), whose modules never send to each other.
//
// All events of a round are independent: the modules start at times spread over one duration, so
// the last event of a round starts before the first one ends, each in a different module.
#include <cstdint>
#include <memory>
#include <string>

#include "../common/busy_work.h"
#include "orrery/orrery.h"

namespace {

using orrery::Context;
using orrery::Duration;
using orrery::LpId;
using orrery::Parameter;
using orrery::Time;

struct Step {};

class Null final : public orrery::Model {
 public:
  Parameter<std::int64_t> modules{
      *this, "modules", 110, {.help = "logical processes", .minimum = 1, .maximum = 1 << 24}};
  Parameter<std::int64_t> events{
      *this,
      "events",
      50'000,
      {.help = "events of each module", .minimum = 1, .maximum = std::int64_t{1} << 40}};
  Parameter<Duration> duration{*this,
                               "duration",
                               Duration::microseconds(1),
                               {.help = "of each event", .minimum = Duration::zero()}};
  Parameter<Duration> period{
      *this,
      "period",
      Duration::microseconds(1),
      {.help = "from one event of a module to its next; at least the duration",
       .minimum = Duration::from_ticks(1)}};
  Parameter<std::int64_t> work{*this,
                               "work",
                               0,
                               {.help = "busy loop in each event, in steps of about a nanosecond",
                                .minimum = 0,
                                .maximum = 1'000'000'000}};

  void prepare() override;
  std::uint64_t lp_count() const override { return static_cast<std::uint64_t>(modules.value()); }
  std::unique_ptr<orrery::LogicalProcessBase> create(LpId) const override;
  /// The end of the last event of the last module.
  Time default_horizon() const override { return Time::from_ticks(end_ticks()); }
  Duration lookahead() const override { return period; }

  /// When the first event of a module starts; the modules are spread evenly over [0, duration).
  Duration first_start(LpId module) const {
    return Duration::from_ticks(static_cast<std::int64_t>(
        static_cast<Wide>(duration.value().ticks()) * module / static_cast<Wide>(modules.value())));
  }

 private:
  __extension__ using Wide = unsigned __int128;

  /// An upper bound of the end of the last event of the last module; saturates at the clock's end.
  std::int64_t end_ticks() const {
    std::int64_t ticks = 0;
    if (__builtin_mul_overflow(events.value(), period.value().ticks(), &ticks) ||
        __builtin_add_overflow(ticks, duration.value().ticks(), &ticks))
      return Time::max().ticks();
    return ticks;
  }
};

class Module final : public orrery::LogicalProcess<Module, Step> {
 public:
  explicit Module(const Null& model) : model_(model) {}

  void start(Context& context) override {
    context.schedule_expanded(context.self(), model_.first_start(context.self()), model_.duration,
                              Step{});
  }
  void finish(orrery::FinalContext& context) override { context.state(handled_); }

  void handle(Context& context, const Step&) {
    orrery::models::busy_work(static_cast<std::uint64_t>(handled_), model_.work);
    if (++handled_ < model_.events)
      context.schedule_expanded(context.self(), model_.period, model_.duration, Step{});
  }

 private:
  const Null& model_;
  std::int64_t handled_ = 0;
};

void Null::prepare() {
  if (period.value() < duration.value()) {
    throw orrery::UsageError("period=" + period.value_text() +
                             " is less than duration=" + duration.value_text() +
                             "; a module's next event cannot start before this one ends");
  }
  if (end_ticks() == Time::max().ticks()) {
    throw orrery::UsageError("events=" + events.value_text() +
                             " every period=" + period.value_text() +
                             " last longer than the clock goes (292 years); choose fewer events "
                             "or a shorter period");
  }
}

std::unique_ptr<orrery::LogicalProcessBase> Null::create(LpId) const {
  return std::make_unique<Module>(*this);
}

ORRERY_MODEL(Null, "null", "modules that only re-schedule themselves: what an engine costs");

}  // namespace
