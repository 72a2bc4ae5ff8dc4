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

/// The most long reads and the most touches of waiting threads in one tick; other threads have
/// their turn in the next tick.
constexpr unsigned kIdleLooks = 64, kTouches = 64;

[[noreturn]] void refuse(const ThreadId& thread, const std::string& name, const char* what,
                         int error) {
  throw UsageError(fmt::format(
      "the {} of thread {} ('{}') of process {} cannot be changed: {}{}", what, thread.thread, name,
      thread.process, std::strerror(error),
      error == EPERM ? "; that needs the capability CAP_SYS_NICE, and a control group whose "
                       "cpu.rt_runtime_us is not 0"
                     : ""));
}

}  // namespace

Beat::Beat(const Orders& orders, double ceiling, const cpu_set_t& cores, Roll* roll,
           SampleRing* samples)
    : tick_(orders.tick),
      cores_number_(static_cast<unsigned>(CPU_COUNT(&cores))),
      cores_(cores),
      roll_(roll),
      samples_(orders.keeps_samples ? samples : nullptr),
      policy_(cores_number_),
      duty_(ceiling),
      figures_{.spreads = SpreadCounts(tick_), .delays = SpreadCounts(tick_)} {}

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
    if (entry == nullptr) entry = roll_entry_of(found);
    give_cores(found, *entry);
  }
  directed_.push_back({.thread = std::move(found.thread),
                       .process_name = std::move(found.process_name),
                       .number = next_number_++,
                       .entry = entry});
  Directed& directed = directed_.back();
  // Before the consumption is read, which may otherwise be 4 ms old.
  if (roll_ != nullptr) set_level(directed, Level::waiting);
  directed.consumed_before = directed.thread.consumed().value_or(0);
  policy_.join(directed.consumed_before, directed.thread.state() == 'R');
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
  directed.side = !directed.side;
  const Scheduling wanted =
      level == Level::own ? directed.entry->before : scheduling_of(level, directed.side);
  directed.level = level;
  const int error = set_scheduling(directed.thread.id().thread, wanted);
  if (error != 0 && error != ESRCH)
    refuse(directed.thread.id(), directed.thread.name(), "scheduling", error);
}

/// Makes the system update the consumption; see scheduling_of.
void Beat::touch() {
  for (Directed& directed : directed_)
    if (directed.level > Level::waiting) set_level(directed, directed.level);
  if (was_loose_) touch_waiting();
}

/// In an undirected tick, waiting threads may have run, too.
void Beat::touch_waiting() {
  unsigned left = kTouches;
  for (std::size_t i = 0; i < directed_.size() && left > 0; ++i) {
    Directed& directed = directed_[(touch_turn_ + i) % directed_.size()];
    if (directed.level != Level::waiting) continue;
    set_level(directed, Level::waiting);
    --left;
  }
  touch_turn_ += kTouches;
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
                       wanted == Level::own ? helper.entry->before : scheduling_of(wanted, false));
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
    touch();
  }
  measure(now - last_);
  policy_.decide();
  keep_samples(now);
  if (roll_ != nullptr) {
    if (figures_.ticks % kTicksOfCycle == 0)
      look_at_helpers(helpers_, kTicksOfCycle * tick_, cores_number_);
    const bool is_directed_tick = duty_.next();
    was_loose_ = !is_directed_tick;
    direct(is_directed_tick);
    direct_helpers(is_directed_tick);
  }
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
