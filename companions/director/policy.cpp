// SPDX-License-Identifier: Apache-2.0
#include "director/policy.h"

#include <algorithm>
#include <tuple>

namespace orrery::director {

void Policy::join(Nanoseconds consumed, bool is_runnable) {
  accounts_.push_back({.consumed = consumed,
                       .pulled_up = floor_ - consumed,
                       .is_runnable = is_runnable,
                       .turn = Turn::waiting});
}

void Policy::update(std::size_t index, Nanoseconds consumed, bool is_runnable) {
  Account& account = accounts_[index];
  account.consumed = std::max(account.consumed, consumed);
  account.is_runnable = is_runnable;
}

/// A thread that has just woken up does not count for the least virtual time. Otherwise a chain of
/// threads, each of which wakes up as the one before falls asleep, would keep the floor low while
/// others run on.
void Policy::pull_up() {
  Nanoseconds least = INT64_MAX, least_of_all = INT64_MAX;
  for (const Account& account : accounts_) {
    if (!account.is_runnable) continue;
    least_of_all = std::min(least_of_all, account.virtual_time());
    if (account.was_runnable) least = std::min(least, account.virtual_time());
  }
  if (least == INT64_MAX) least = least_of_all;
  if (least != INT64_MAX) floor_ = std::max(floor_, least);
  for (Account& account : accounts_) {
    if (!account.is_runnable || !account.was_runnable)
      account.pulled_up += std::max<Nanoseconds>(0, floor_ - account.virtual_time());
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
