// SPDX-License-Identifier: Apache-2.0
#include "director/net/machine_clocks.h"

#include <algorithm>

#include "director/clock_now.h"

namespace orrery::director {

WallTimes::WallTimes() : start_(clock_now()), now_(start_) {}

void WallTimes::refresh() {
  now_ = clock_now();
}

Nanoseconds WallTimes::exact(std::size_t) {
  return clock_now() - start_;
}

MachineClocks::MachineClocks(ClockBoard& board, const std::vector<pid_t>& processes,
                             const std::vector<std::pair<ThreadId, TaskClock>>& processors)
    : board_(board), clocks_(&board.newest()) {
  for (const pid_t process : processes) {
    Machine& machine = machines_.emplace_back();
    machine.process = process;
    for (const auto& one : processors)
      if (one.first.process == process) machine.task_clocks.push_back(one);
  }
}

void MachineClocks::refresh() {
  clocks_ = &board_.newest();
  for (Machine& machine : machines_) {
    machine.processors.clear();
    machine.clock = clocks_->system;
    machine.is_idle = true;
    machine.leader_runs = false;
  }
  for (const ProcessorClock& one : clocks_->processors) {
    const auto machine = std::find_if(machines_.begin(), machines_.end(), [&](const Machine& m) {
      return m.process == one.id.process;
    });
    if (machine == machines_.end()) continue;
    machine->processors.push_back(&one);
    machine->weight = one.weight;
    if (one.is_runnable) machine->is_idle = false;
    if (one.virtual_time < machine->clock) continue;
    if (one.virtual_time > machine->clock) machine->leader_runs = false;
    machine->clock = one.virtual_time;
    machine->leader_runs |= one.is_runnable && one.has_turn;
  }
  all_are_idle_ = std::all_of(machines_.begin(), machines_.end(),
                              [](const Machine& machine) { return machine.is_idle; });
}

Nanoseconds MachineClocks::consumed_since(const Machine& machine, const ProcessorClock& processor) {
  for (const auto& [id, clock] : machine.task_clocks)
    if (id == processor.id)
      return clock.consumed().value_or(processor.consumed) - processor.consumed;
  return 0;
}

Nanoseconds MachineClocks::exact(std::size_t number) {
  Machine& machine = machines_[number];
  Nanoseconds clock = machine.is_idle ? std::max(machine.clock, clocks_->system) : machine.clock;
  for (const ProcessorClock* one : machine.processors) {
    const Nanoseconds ran = consumed_since(machine, *one);
    clock = std::max(clock, one->virtual_time + Nanoseconds(double(ran) / one->weight));
  }
  machine.last_at = clock_now();
  return machine.last = std::max(machine.last, clock);
}

std::optional<Nanoseconds> MachineClocks::earliest(std::size_t number, Nanoseconds time,
                                                   Nanoseconds now) const {
  // After an early look at the exact clock, which is behind if its processor has not run all the time.
  constexpr Nanoseconds kBetweenLooks = 20'000;
  const Machine& machine = machines_[number];
  if (time <= std::max(machine.clock, machine.last)) return now;
  if (!machine.leader_runs) return {};
  const auto moment = [&](Nanoseconds clock, Nanoseconds at) {
    return at + Nanoseconds(double(time - clock) * machine.weight);
  };
  const Nanoseconds by_tick = moment(machine.clock, clocks_->at);
  if (machine.last_at <= clocks_->at) return std::max(now, by_tick);
  return std::max({now, by_tick, moment(machine.last, machine.last_at) + kBetweenLooks});
}

}  // namespace orrery::director
