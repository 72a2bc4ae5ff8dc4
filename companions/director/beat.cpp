// SPDX-License-Identifier: Apache-2.0
#include "director/beat.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "orrery/error.h"

namespace orrery::director {
namespace {

/// The most long reads in one tick; other threads have their turn in the next tick.
constexpr unsigned kIdleLooks = 64;

[[noreturn]] void refuse(const ThreadId& thread, const std::string& name, const char* what,
                         int error) {
  throw UsageError(fmt::format(
      "the {} of thread {} ('{}') of process {} cannot be changed: {}{}", what, thread.thread, name,
      thread.process, std::strerror(error),
      error == EPERM ? "; that needs the capability CAP_SYS_NICE, and a control group whose "
                       "cpu.rt_runtime_us is not 0"
                     : ""));
}

/// The virtual processors of a process are a machine; any other thread is one by itself.
std::uint64_t machine_of(const Thread& thread) {
  const auto process = static_cast<std::uint64_t>(thread.id().process);
  if (is_virtual_processor(thread.name())) return process;
  return std::uint64_t{1} << 32 | static_cast<std::uint64_t>(thread.id().thread);
}

}  // namespace

Beat::Beat(const Orders& orders, double ceiling, const cpu_set_t& cores, Roll* roll,
           SampleRing* samples, ClockBoard* board)
    : tick_(orders.tick),
      cores_number_(static_cast<unsigned>(CPU_COUNT(&cores))),
      cores_(cores),
      roll_(roll),
      samples_(orders.keeps_samples ? samples : nullptr),
      board_(board),
      policy_(cores_number_),
      duty_(ceiling),
      figures_{.spreads = SpreadCounts(tick_), .delays = SpreadCounts(tick_)} {
  weights_.reserve(ClockBoard::kMostProcessors);
}

void Beat::set_tick(Nanoseconds tick) {
  if (tick == tick_) return;
  tick_ = tick;
  figures_.spreads = SpreadCounts(tick);
  figures_.delays = SpreadCounts(tick);
}

void Beat::set_weight(pid_t process, double weight) {
  std::erase_if(weights_, [process](const auto& one) { return one.first == process; });
  if (weights_.size() < weights_.capacity()) weights_.emplace_back(process, weight);
  for (std::size_t i = 0; i < directed_.size(); ++i)
    if (directed_[i].thread.id().process == process) policy_.set_weight(i, weight);
}

RollEntry* Beat::roll_entry_of(const Found& found) {
  Scheduling before = found.scheduling;
  // A child of a directed thread has inherited the director's scheduling.
  if (const Scheduling* first = roll_->of_process(found.thread.id().process);
      first != nullptr && is_directed(before))
    before = *first;
  RollEntry* const entry = roll_->add(found.thread.id(), before);
  if (entry == nullptr)
    throw UsageError(fmt::format("there are more than {} threads to direct", Roll::kMost));
  return entry;
}

/// Allows the thread all cores, so that any core can run any thread.
void Beat::give_cores(const Found& found, RollEntry& entry) const {
  if (CPU_EQUAL(&found.cores, &cores_) || entry.cores_changed) return;
  entry.cores_before = found.cores;
  entry.cores_changed = true;
  const ThreadId& id = found.thread.id();
  if (sched_setaffinity(id.thread, sizeof cores_, &cores_) == 0 || errno == ESRCH) return;
  refuse(id, found.thread.name(), "cores", errno);
}

void Beat::take_directed(Found& found) {
  RollEntry* entry = nullptr;
  if (roll_ != nullptr) {
    entry = forget(found.thread.id());
    if (entry == nullptr && found.scheduling.is_real_time()) {
      if (figures_.ticks > 0) return;  // it became real-time by itself, and stays so
      throw UsageError(fmt::format(
          "thread {} ('{}') of process {} is a real-time thread already, so it cannot be directed",
          found.thread.id().thread, found.thread.name(), found.thread.id().process));
    }
    if (!found.thread.clock()) return;  // it has ended, or the system has no counter left
    if (entry == nullptr) entry = roll_entry_of(found);
    give_cores(found, *entry);
  }
  directed_.push_back({.thread = std::move(found.thread),
                       .process_name = std::move(found.process_name),
                       .number = next_number_++,
                       .entry = entry});
  Directed& directed = directed_.back();
  if (roll_ != nullptr) set_level(directed, Level::waiting);
  directed.consumed_before = directed.thread.consumed().value_or(0);
  const ThreadId& id = directed.thread.id();
  policy_.join(machine_of(directed.thread), directed.consumed_before,
               directed.thread.state() == 'R');
  for (const auto& [process, weight] : weights_)
    if (process == id.process) policy_.set_weight(directed_.size() - 1, weight);
}

void Beat::take_helper(Found& found) {
  RollEntry* entry = nullptr;
  if (roll_ != nullptr) {
    entry = forget(found.thread.id());
    // A thread with real-time scheduling of its own keeps it.
    if (entry == nullptr && !found.scheduling.is_real_time()) entry = roll_entry_of(found);
  }
  const Nanoseconds consumed = found.thread.consumed().value_or(0);
  helpers_.push_back({.thread = std::move(found.thread),
                      .process_name = std::move(found.process_name),
                      .entry = entry,
                      .consumed = consumed});
}

/// Removes the thread from its role; its entry stays on the roll.
RollEntry* Beat::forget(const ThreadId& thread) {
  RollEntry* entry = nullptr;
  std::erase_if(helpers_, [&](const Helper& helper) {
    if (helper.thread.id() != thread) return false;
    entry = helper.entry;
    return true;
  });
  for (std::size_t i = directed_.size(); i-- > 0;) {
    if (directed_[i].thread.id() != thread) continue;
    entry = directed_[i].entry;
    directed_.erase(directed_.begin() + std::ptrdiff_t(i));
    policy_.leave(i);
  }
  return entry;
}

void Beat::take_in(std::vector<Found>& found) {
  for (Found& one : found) {
    if (one.is_helper)
      take_helper(one);
    else
      take_directed(one);
  }
  found.clear();
}

void Beat::set_level(Directed& directed, Level level) const {
  const Scheduling wanted = level == Level::own ? directed.entry->before : scheduling_of(level);
  directed.level = level;
  const int error = set_scheduling(directed.thread.id().thread, wanted);
  if (error != 0 && error != ESRCH)
    refuse(directed.thread.id(), directed.thread.name(), "scheduling", error);
}

bool Beat::is_runnable(std::size_t index, Nanoseconds ran, Nanoseconds elapsed) {
  const Account& account = policy_.accounts()[index];
  if (ran >= elapsed - elapsed / 10) return true;
  if (account.is_runnable && ran == 0 && account.turn != Turn::running) return true;
  if (!account.is_runnable && ran == 0) {
    const bool has_turn = (index + directed_.size() - idle_turn_) % directed_.size() < kIdleLooks;
    if (!has_turn) return false;
  }
  return directed_[index].thread.state() == 'R';
}

void Beat::measure(Nanoseconds elapsed) {
  for (std::size_t i = directed_.size(); i-- > 0;) {
    const std::optional<Nanoseconds> consumed = directed_[i].thread.consumed();
    if (!consumed) {
      if (directed_[i].entry != nullptr) Roll::remove(*directed_[i].entry);
      directed_.erase(directed_.begin() + std::ptrdiff_t(i));
      policy_.leave(i);
      continue;
    }
    const Nanoseconds ran = *consumed - policy_.accounts()[i].consumed;
    policy_.update(i, *consumed, is_runnable(i, ran, elapsed));
  }
  idle_turn_ = directed_.empty() ? 0 : (idle_turn_ + kIdleLooks) % directed_.size();
}

void Beat::keep_samples(Nanoseconds now) {
  if (const std::optional<Nanoseconds> spread = policy_.spread()) figures_.spreads.add(*spread);
  if (samples_ == nullptr) return;
  for (std::size_t i = 0; i < directed_.size(); ++i) {
    const Account& account = policy_.accounts()[i];
    samples_->put({.at = now - start_,
                   .virtual_time = account.virtual_time(),
                   .consumed = account.consumed - directed_[i].consumed_before,
                   .thread = directed_[i].number,
                   .is_runnable = account.is_runnable,
                   .turn = account.turn});
  }
}

void Beat::publish(Nanoseconds now) {
  if (board_ == nullptr) return;
  Clocks& clocks = board_->draft();
  clocks.at = now;
  clocks.system = policy_.floor();
  clocks.processors.clear();
  for (std::size_t i = 0; i < directed_.size(); ++i) {
    if (clocks.processors.size() == ClockBoard::kMostProcessors) break;
    const Account& account = policy_.accounts()[i];
    clocks.processors.push_back({.id = directed_[i].thread.id(),
                                 .consumed = account.consumed,
                                 .virtual_time = account.virtual_time(),
                                 .weight = account.weight,
                                 .is_runnable = account.is_runnable,
                                 .has_turn = account.turn == Turn::running});
  }
  board_->publish();
}

/// Lowers threads first, then raises threads: otherwise a core would have to choose between
/// real-time threads. In undirected ticks, the chosen threads come before other directed threads,
/// and after all other threads.
void Beat::direct(bool is_directed_tick) {
  const auto level_of = [&](Turn turn) {
    if (turn == Turn::waiting) return Level::waiting;
    if (!is_directed_tick) return turn == Turn::running ? Level::ordinary : Level::waiting;
    return turn == Turn::running ? Level::running : Level::standby;
  };
  for (const bool gets_more : {false, true}) {
    for (std::size_t i = 0; i < directed_.size(); ++i) {
      const Level wanted = level_of(policy_.accounts()[i].turn);
      if (wanted != directed_[i].level && (wanted > directed_[i].level) == gets_more)
        set_level(directed_[i], wanted);
    }
  }
}

void Beat::direct_helpers(bool is_directed_tick) {
  for (Helper& helper : helpers_) {
    if (helper.entry == nullptr) continue;
    const Level wanted = helper.wanted_level(is_directed_tick);
    if (wanted == helper.level) continue;
    helper.level = wanted;
    const int error =
        set_scheduling(helper.thread.id().thread,
                       wanted == Level::own ? helper.entry->before : scheduling_of(wanted));
    if (error != 0 && error != ESRCH)
      refuse(helper.thread.id(), helper.thread.name(), "scheduling", error);
  }
}

void Beat::tick(Nanoseconds begin, Nanoseconds now) {
  if (start_ < 0) start_ = last_ = now;
  if (roll_ != nullptr) {
    if (const std::uint32_t rescues = roll_->rescues();
        std::exchange(rescues_, rescues) != rescues) {
      // The guardian has given all threads back, so the levels noted here are wrong.
      for (Directed& directed : directed_) directed.level = Level::own;
      for (Helper& helper : helpers_) helper.level = Level::own;
    }
  }
  measure(now - last_);
  const Nanoseconds leap = board_ == nullptr ? INT64_MIN : board_->leap();
  policy_.set_leap(leap);
  policy_.decide();
  is_at_rest_ =
      leap == INT64_MIN && std::none_of(policy_.accounts().begin(), policy_.accounts().end(),
                                        [](const Account& account) { return account.is_runnable; });
  keep_samples(now);
  if (roll_ != nullptr) {
    if (figures_.ticks % kTicksOfCycle == 0)
      look_at_helpers(helpers_, kTicksOfCycle * tick_, cores_number_);
    const bool is_directed_tick = duty_.next();
    direct(is_directed_tick);
    direct_helpers(is_directed_tick);
  }
  publish(now);
  figures_.delays.add(now - begin);
  figures_.elapsed = now - start_;
  ++figures_.ticks;
  last_ = now;
}

void Beat::show(std::vector<ThreadView>& views) const {
  views.clear();
  const auto add = [&](ThreadView&& view) {
    if (views.size() < views.capacity()) views.push_back(std::move(view));
  };
  for (std::size_t i = 0; i < directed_.size(); ++i) {
    const Account& account = policy_.accounts()[i];
    add({.id = directed_[i].thread.id(),
         .number = directed_[i].number,
         .process_name = directed_[i].process_name,
         .name = directed_[i].thread.name(),
         .is_runnable = account.is_runnable,
         .turn = account.turn,
         .virtual_time = account.virtual_time(),
         .consumed = account.consumed - directed_[i].consumed_before});
  }
  for (const Helper& helper : helpers_)
    add({.id = helper.thread.id(),
         .process_name = helper.process_name,
         .name = helper.thread.name(),
         .is_helper = true,
         .is_punished = helper.punished > 0});
}

}  // namespace orrery::director
