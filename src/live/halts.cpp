// SPDX-License-Identifier: Apache-2.0
#include "live/halts.h"

#include <algorithm>
#include <utility>

#include "output/report.h"
#include "run/world/metrics_so_far.h"
#include "transport/ranks/bytes.h"
#include "transport/ranks/rank_transport.h"

namespace orrery::live {

Goal LookHalts::next_goal(const World& world) {
  Goal goal = goal_of_others(world);
  goal.asked = &control_.halt_requested;
  return goal;
}

void LookHalts::note_hand_over(double seconds) {
  hand_over_seconds_ = seconds;
  ChainedHalts::note_hand_over(seconds);
}

LookHalts::Reasons LookHalts::take_reasons() {
  control_.take_halt_request();
  // Relaxed: the flags were released together with the request, and no other data depends on them.
  Reasons reasons;
  reasons.look = control_.look_at_halt.exchange(false, std::memory_order_relaxed);
  reasons.others = control_.keep_at_halt.exchange(false, std::memory_order_relaxed) ||
                   control_.stop_at_halt.load(std::memory_order_relaxed);
  if (control_.ranks == nullptr) return reasons;
  transport::ByteWriter own;
  own.put(reasons);
  const auto all = control_.ranks->gather_everywhere(own.take());
  return transport::ByteReader(all.front()).get<Reasons>();
}

bool LookHalts::at_halt(World& world) {
  const Reasons reasons = take_reasons();
  if (reasons.look) look(world);
  const bool for_others = reasons.others || is_at_goal_of_others(world);
  return !for_others || show_to_others(world);
}

/// At a cut within an instant, levels have their values from the instant's begin.
void LookHalts::look(World& world) {
  Stopwatch cost;
  RunRecord record;
  record.model = &model_;
  record.options = options_;
  const Time time = std::min(world.cut.time(), options_.until);
  record.result = metrics_so_far(world, time, control_.ranks);
  const unsigned dealt = control_.workers.load(std::memory_order_relaxed);
  const unsigned workers = dealt > 0 ? std::min(dealt, world.parts()) : world.parts();
  Look look;
  look.map = mapper_.map(world, workers, control_.ranks);
  ++looks_;
  if (board_ != nullptr) {
    look.number = looks_;
    look.metrics = report_metrics(record);
    look.reached_seconds = static_cast<double>(time.ticks()) * model_.tick_seconds();
    look.wall_seconds = since_begin_.elapsed();
    look.since_seconds = look.wall_seconds - std::exchange(last_look_, look.wall_seconds);
    const auto lp = [&world](LpId id) { return world.is_here(id) ? world.lp(id).object : nullptr; };
    look.picture = picture_.of(model_.live_picture(lp, time), look.reached_seconds);
  }
  const double seconds = cost.lap() + hand_over_seconds_;
  cost_seconds_ += seconds;
  if (board_ != nullptr) board_->put(std::move(look), seconds);
}

void LookHalts::at_end(RunResult& result) {
  ChainedHalts::at_end(result);
  if (looks_ == 0) return;
  result.statistics.push_back(
      {"looks", "", "times that the run halted for the live page", static_cast<double>(looks_)});
  result.statistics.push_back(
      {"look_seconds", "s", "time that halts for the live page took", cost_seconds_});
}

}  // namespace orrery::live
