// SPDX-License-Identifier: Apache-2.0
//
// An amount of something that processes of an LP take from and add to: fuel, money, free space. A
// model includes orrery/process.h.
//
// Amounts are integers of the model's own unit (millilitres, cents), so none is lost to rounding.
// Processes that wait to take form one line, those that wait to add another; in each the first one
// goes first, even where a later one could go on with less.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "orrery/process_kernel.h"
#include "orrery/results.h"
#include "orrery/time.h"

namespace orrery {

class Container;

namespace detail {

class AmountWait final : public ListedWait {
 public:
  /// `change`: what is added, or below 0 what is taken.
  AmountWait(Container& container, std::int64_t change, Limit limit)
      : container_(container), change_(change), limit_(limit) {}
  /// Whether the amount was moved.
  bool await_resume() const { return settle() == Woken::as_wished; }

 private:
  friend class orrery::Container;
  bool begin() override;
  void withdraw() override;
  void expire() override;
  void give_back() override;

  Container& container_;
  const std::int64_t change_;
  const Limit limit_;
};

}  // namespace detail

class Container {
 public:
  /// Throws std::invalid_argument unless 0 <= level <= capacity.
  explicit Container(std::int64_t capacity, std::int64_t level = 0)
      : capacity_(capacity), level_(level) {
    if (level < 0 || level > capacity)
      throw std::invalid_argument("Container: the level must be from 0 to the capacity.");
  }

  /// For ProcessHost::observe(): records the amount as this level from now on.
  void observe(OutputContext& context, const Metric& level) {
    metric_ = &level;
    tell(context);
  }

  /// `co_await tank.get(40)` waits until there is as much, and takes it. Throws
  /// std::invalid_argument for amounts below 1 or above the capacity, as all functions here.
  [[nodiscard("co_await it")]] detail::AmountWait get(std::int64_t amount) {
    return {*this, -checked(amount), {}};
  }
  /// The same, waiting at most `limit`: returns false if the amount was not there.
  [[nodiscard("co_await it")]] detail::AmountWait get_for(Duration limit, std::int64_t amount) {
    return {*this, -checked(amount), {true, limit}};
  }
  /// `co_await tank.put(40)` waits until there is room for as much, and adds it.
  [[nodiscard("co_await it")]] detail::AmountWait put(std::int64_t amount) {
    return {*this, checked(amount), {}};
  }
  [[nodiscard("co_await it")]] detail::AmountWait put_for(Duration limit, std::int64_t amount) {
    return {*this, checked(amount), {true, limit}};
  }

  std::int64_t capacity() const { return capacity_; }
  std::int64_t level() const { return level_; }

 private:
  friend class detail::AmountWait;

  std::int64_t checked(std::int64_t amount) const {
    if (amount < 1 || amount > capacity_)
      throw std::invalid_argument("Container: an amount of " + std::to_string(amount) +
                                  " is not from 1 to the capacity of " + std::to_string(capacity_) +
                                  ".");
    return amount;
  }

  detail::WaitList& line_of(std::int64_t change) { return change < 0 ? takers_ : givers_; }
  bool fits(std::int64_t change) const {
    return level_ + change >= 0 && (change < 0 || level_ <= capacity_ - change);
  }
  void move(OutputContext& context, std::int64_t change) {
    level_ += change;
    tell(context);
  }
  void tell(OutputContext& context) const {
    if (metric_ != nullptr) context.level(*metric_, static_cast<double>(level_));
  }

  /// Serves the lines until the first one of each must wait.
  void serve(OutputContext& context) {
    while (serve_first(context, takers_) || serve_first(context, givers_)) {
    }
  }
  bool serve_first(OutputContext& context, detail::WaitList& line) {
    if (line.is_empty()) return false;
    auto& first = static_cast<detail::AmountWait&>(line.first());
    if (!fits(first.change_)) return false;
    move(context, first.change_);
    line.wake(first);
    return true;
  }

  std::int64_t capacity_, level_;
  const Metric* metric_ = nullptr;  // a member of the model, which lives longer
  detail::WaitList takers_, givers_;
};

namespace detail {

inline bool AmountWait::begin() {
  if (!container_.line_of(change_).is_empty() || !container_.fits(change_)) {
    wait_in(container_.line_of(change_), limit_);
    return true;
  }
  container_.move(kernel().context(), change_);
  container_.serve(kernel().context());
  return false;
}

/// The next in the line may want less.
inline void AmountWait::withdraw() {
  leave();
  container_.serve(kernel().context());
}
inline void AmountWait::expire() {
  unlink();
  container_.serve(kernel().context());
}
inline void AmountWait::give_back() {
  if (change_ > 0) return;  // others may have taken what was added
  container_.move(kernel().context(), -change_);
  container_.serve(kernel().context());
}

}  // namespace detail
}  // namespace orrery
