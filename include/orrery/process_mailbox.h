// SPDX-License-Identifier: Apache-2.0
//
// A FIFO of values for the processes of an LP: messages from other LPs, put by a handler, or
// products of another process. A model includes orrery/process.h.
//
// put() gives a value at once to the process that has waited longest, so no process that calls
// receive() before that process resumes can take it.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "orrery/process_kernel.h"
#include "orrery/time.h"

namespace orrery {

template <class T>
class Mailbox;

namespace detail {

template <class T>
class ReceiveWait : public ListedWait {
 protected:
  ReceiveWait(Mailbox<T>& mailbox, Limit limit) : mailbox_(mailbox), limit_(limit) {}
  ~ReceiveWait() override = default;

 private:
  bool begin() override {
    if (mailbox_.size() > 0) {
      received_.emplace(mailbox_.take());
      return false;
    }
    wait_in(mailbox_.waiting_, limit_);
    return true;
  }
  void give_back() override { mailbox_.put_first(std::move(*received_)); }

 protected:
  friend class Mailbox<T>;
  Mailbox<T>& mailbox_;
  const Limit limit_;
  std::optional<T> received_;
};

template <class T>
class Receive final : public ReceiveWait<T> {
 public:
  explicit Receive(Mailbox<T>& mailbox) : ReceiveWait<T>(mailbox, Limit()) {}
  T await_resume() {
    this->settle();
    return std::move(*this->received_);
  }
};

template <class T>
class ReceiveFor final : public ReceiveWait<T> {
 public:
  ReceiveFor(Mailbox<T>& mailbox, Duration limit) : ReceiveWait<T>(mailbox, Limit{true, limit}) {}
  std::optional<T> await_resume() {
    this->settle();
    return std::move(this->received_);
  }
};

}  // namespace detail

/// `T` is any type that can be moved. Values are received in the order in which they were put.
template <class T>
class Mailbox {
 public:
  void put(T value) {
    if (!give(value)) values_.push_back(std::move(value));
  }

  /// `const T value = co_await mailbox.receive();`
  [[nodiscard("co_await it")]] detail::Receive<T> receive() { return detail::Receive<T>(*this); }
  /// The same, waiting at most `limit`: a std::optional without a value if nothing came.
  [[nodiscard("co_await it")]] detail::ReceiveFor<T> receive_for(Duration limit) {
    return {*this, limit};
  }
  /// Takes a value if there is one, without waiting.
  std::optional<T> try_receive() {
    if (size() == 0) return std::nullopt;
    return take();
  }

  /// Number of values not yet received.
  std::size_t size() const { return values_.size() - taken_; }
  bool is_awaited() const { return !waiting_.is_empty(); }

 private:
  friend class detail::ReceiveWait<T>;

  /// Gives the value to the process that has waited longest. Returns false if none waits.
  bool give(T& value) {
    if (waiting_.is_empty()) return false;
    auto& first = static_cast<detail::ReceiveWait<T>&>(waiting_.first());
    first.received_.emplace(std::move(value));
    waiting_.wake(first);
    return true;
  }
  /// For a value that was taken and is the next again.
  void put_first(T value) {
    if (!give(value))
      values_.insert(values_.begin() + static_cast<std::ptrdiff_t>(taken_), std::move(value));
  }
  T take() {
    T value = std::move(values_[taken_++]);
    forget_taken();
    return value;
  }
  void forget_taken() {
    if (taken_ < values_.size() && (taken_ < kTakenMax || taken_ < values_.size() / 2)) return;
    values_.erase(values_.begin(), values_.begin() + static_cast<std::ptrdiff_t>(taken_));
    taken_ = 0;
  }

  static constexpr std::size_t kTakenMax = 16;

  std::vector<T> values_;  // a queue that begins at `taken_`: one block to copy at a checkpoint
  std::size_t taken_ = 0;
  detail::WaitList waiting_;  // processes that found no value
};

}  // namespace orrery
