// SPDX-License-Identifier: Apache-2.0
#include "director/policy.h"

#include <algorithm>
#include <tuple>

namespace orrery::director {

void Policy::join(std::uint64_t machine, Nanoseconds consumed, bool is_runnable) {
  accounts_.push_back({.machine = machine,
                       .consumed = consumed,
                       .pulled_up = floor_ - consumed,
                       .is_runnable = is_runnable,
                       .turn = Turn::waiting});
}

void Policy::update(std::size_t index, Nanoseconds consumed, bool is_runnable) {
  Account& account = accounts_[index];
  account.consumed = std::max(account.consumed, consumed);
  account.is_runnable = is_runnable;
}

void Policy::set_weight(std::size_t index, double weight) {
  Account& account = accounts_[index];
  const Nanoseconds before = account.virtual_time();
  account.weight = weight;
  account.pulled_up += before - account.virtual_time();
}

void Policy::look_at_machines() {
  machines_.clear();
  for (const Account& account : accounts_) {
    const auto place = std::lower_bound(
        machines_.begin(), machines_.end(), account.machine,
        [](const Machine& one, std::uint64_t number) { return one.number < number; });
    const bool is_runnable = account.is_runnable,
               was_runnable = is_runnable && account.was_runnable;
    if (place == machines_.end() || place->number != account.machine) {
      machines_.insert(place, {account.machine, account.virtual_time(), is_runnable, was_runnable});
      continue;
    }
    place->clock = std::max(place->clock, account.virtual_time());
    place->is_runnable |= is_runnable;
    place->was_runnable |= was_runnable;
  }
}

/// A machine that has just woken up does not count for the least clock. Otherwise a chain of
/// machines, each of which wakes up as the one before falls asleep, would keep the floor low while
/// others run on.
void Policy::raise_floor() {
  Nanoseconds least = INT64_MAX, least_of_all = INT64_MAX;
  for (const Machine& machine : machines_) {
    if (!machine.is_runnable) continue;
    least_of_all = std::min(least_of_all, machine.clock);
    if (machine.was_runnable) least = std::min(least, machine.clock);
  }
  if (least == INT64_MAX) least = least_of_all;
  if (least == INT64_MAX) least = leap_;
  floor_ = std::max(floor_, least);
}

void Policy::pull_up() {
  look_at_machines();
  raise_floor();
  for (Account& account : accounts_) {
    const auto machine = std::lower_bound(
        machines_.begin(), machines_.end(), account.machine,
        [](const Machine& one, std::uint64_t number) { return one.number < number; });
    if (!account.is_runnable || !account.was_runnable)
      account.pulled_up +=
          std::max<Nanoseconds>(0, std::max(floor_, machine->clock) - account.virtual_time());
    account.was_runnable = account.is_runnable;
  }
}

void Policy::decide() {
  pull_up();
  order_.clear();
  for (std::size_t i = 0; i < accounts_.size(); ++i)
    if (accounts_[i].is_runnable) order_.push_back(i);
  const std::size_t chosen = std::min<std::size_t>(order_.size(), 2 * std::size_t{cores_});
  // Of equal threads, the one that has a core keeps it, which saves a switch.
  std::partial_sort(order_.begin(), order_.begin() + std::ptrdiff_t(chosen), order_.end(),
                    [this](std::size_t a, std::size_t b) {
                      const auto rank = [this](std::size_t i) {
                        return std::tuple(accounts_[i].virtual_time(),
                                          -static_cast<int>(accounts_[i].turn), i);
                      };
                      return rank(a) < rank(b);
                    });
  for (Account& account : accounts_) account.turn = Turn::waiting;
  for (std::size_t i = 0; i < chosen; ++i)
    accounts_[order_[i]].turn = i < cores_ ? Turn::running : Turn::standby;
}

std::optional<Nanoseconds> Policy::spread() const {
  Nanoseconds least = INT64_MAX, most = INT64_MIN;
  std::size_t runnable = 0;
  for (const Account& account : accounts_) {
    if (!account.is_runnable) continue;
    ++runnable;
    least = std::min(least, account.virtual_time());
    most = std::max(most, account.virtual_time());
  }
  if (runnable < 2) return {};
  return most - least;
}

bool Duty::next() {
  owed_ += others_;
  if (owed_ < 1) return true;
  owed_ -= 1;
  return false;
}

}  // namespace orrery::director
