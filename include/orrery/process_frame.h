// SPDX-License-Identifier: Apache-2.0
//
// What a process is to the compiler: a coroutine whose frame, with its local variables and the
// place where it stands, is an allocation of its LP like any other (coroutine frames come from
// operator new), so that checkpoints, rollbacks, moves and snapshots hold it without knowing of it.
// A model includes orrery/process.h.
//
// All that wait at one place are a list through their frames: waiting allocates nothing, and who is
// destroyed first, the one who waits or the place, does not matter.
#pragma once

#include <coroutine>
#include <cstdint>
#include <exception>
#include <span>
#include <type_traits>
#include <utility>

#include "orrery/context.h"
#include "orrery/logical_process.h"

namespace orrery {

class Model;
class Process;

/// Names a process of an LP, also when it has ended: a value to keep and to send, of no use in
/// another LP.
class ProcessRef {
 public:
  /// No process.
  constexpr ProcessRef() = default;
  friend constexpr bool operator==(const ProcessRef&, const ProcessRef&) = default;

 private:
  friend class ProcessKernel;
  constexpr ProcessRef(std::uint64_t number, std::uint64_t slot) : number_(number), slot_(slot) {}

  std::uint64_t number_ = 0;  // how many the LP had begun with it: no two are alike
  std::uint64_t slot_ = 0;
};

/// What a wait throws in a process that ProcessHost::interrupt has interrupted. A process that does
/// not catch it ends the run with a model fault.
class Interrupted final : public std::exception {
 public:
  explicit Interrupted(std::uint64_t why) : reason(why) {}
  const char* what() const noexcept override {
    return "the process was interrupted where it waited, and does not catch orrery::Interrupted";
  }
  std::uint64_t reason;  ///< what the one who interrupted gave
};

class ProcessKernel;

namespace detail {

class ProcessPromise;
using ProcessHandle = std::coroutine_handle<ProcessPromise>;

/// Why a process goes on.
enum class Woken : std::uint8_t { as_wished, by_clock, by_interrupt };

/// What a process can wait for with co_await. It lies in the frame meanwhile.
class Wait {
 public:
  Wait(const Wait&) = delete;
  Wait& operator=(const Wait&) = delete;
  bool await_ready() const noexcept { return false; }

 protected:
  Wait() = default;
  ~Wait() = default;
};

/// How long a wait lasts at most. Unlike those of a std::optional its members are always defined:
/// the checker compares what lies in a frame.
struct Limit {
  bool exists = false;
  Duration most;
};

class WaitList;

/// One that others end, and perhaps the clock.
class ListedWait : public Wait {
 public:
  /// The process goes on without what it waited for, and is no longer among those who wait: at
  /// once, since what others do before it goes on must not find it there.
  virtual void withdraw() { unlink(); }

 protected:
  ListedWait() = default;
  virtual ~ListedWait() { unlink(); }

  /// Notes which process comes here. False if it must not wait, since it was interrupted before.
  bool may_wait(ProcessHandle frame);
  /// Waits at the end of the list.
  void wait_in(WaitList& list, const Limit& limit);
  /// After the wait: why the process goes on, if it was not interrupted, which throws.
  Woken settle();
  void unlink();
  ProcessKernel& kernel() const;
  Time now() const;

 private:
  friend class WaitList;

  ProcessPromise* process_ = nullptr;
  WaitList* list_ = nullptr;
  ListedWait *previous_ = nullptr, *next_ = nullptr;
  Timer clock_;  // of the limit
};

/// Those who wait, in the order in which they came.
class WaitList {
 public:
  WaitList() = default;
  WaitList(const WaitList&) = delete;
  WaitList& operator=(const WaitList&) = delete;
  ~WaitList() {
    while (first_ != nullptr) first_->unlink();
  }

  bool is_empty() const { return first_ == nullptr; }
  ListedWait& first() const { return *first_; }
  /// Lets one of them go on, whose wish is fulfilled.
  void wake(ListedWait& wait);
  void wake_all() {
    while (first_ != nullptr) wake(*first_);
  }

 private:
  friend class ListedWait;
  ListedWait *first_ = nullptr, *last_ = nullptr;
};

inline void ListedWait::unlink() {
  if (list_ == nullptr) return;
  (previous_ != nullptr ? previous_->next_ : list_->first_) = next_;
  (next_ != nullptr ? next_->previous_ : list_->last_) = previous_;
  list_ = nullptr;
  previous_ = next_ = nullptr;
}

class Call;

/// The compiler's part of a frame. A process may have several: that of the coroutine that was given
/// to spawn(), and those of coroutines that it has called by co_await, each the caller of the next.
class ProcessPromise {
 public:
  Process get_return_object() noexcept;
  std::suspend_always initial_suspend() const noexcept { return {}; }
  std::suspend_always final_suspend() const noexcept { return {}; }
  void return_void() const noexcept {}
  void unhandled_exception() noexcept { error = std::current_exception(); }

  std::exception_ptr error;          // that left the coroutine
  ProcessPromise* process = this;    // the outermost
  ProcessPromise* caller = nullptr;  // that waits for this one to end

  // Of the outermost only.
  ProcessKernel* kernel = nullptr;
  ProcessPromise* innermost = this;      // that is to go on
  ProcessPromise* next_ready = nullptr;  // in the list of those that go on in this event
  ListedWait* wait = nullptr;            // where it waits, if that is in a list
  WaitList waiting_for_end;
  std::uint64_t number = 0;  // see ProcessRef
  std::uint64_t reason = 0;  // of the interrupt
  std::uint32_t slot = 0;
  Woken woken = Woken::as_wished;
  bool waiting = false;
  bool interrupt_pending = false;  // it was interrupted where it did not wait
};

}  // namespace detail

/// A coroutine that is a process, or a part of one:
///
///   orrery::Process customer(int number);
///
/// It does nothing until it is given to spawn(), which makes a process of it, or until another
/// coroutine calls it, `co_await customer(7)`, and goes on when it has ended; exceptions pass on to
/// the caller. It takes its parameters by value (see below).
class [[nodiscard("give a process to spawn(), or co_await it in another")]] Process {
 public:
  Process(Process && other) noexcept : frame_(std::exchange(other.frame_, nullptr)) {}
  Process& operator=(Process&& other) noexcept {
    std::swap(frame_, other.frame_);
    return *this;
  }
  ~Process() {
    if (frame_) frame_.destroy();
  }

  /// Calls it from another coroutine.
  detail::Call operator co_await()&&;

 private:
  friend class ProcessKernel;
  friend class detail::Call;
  friend class detail::ProcessPromise;
  explicit Process(detail::ProcessHandle frame) noexcept : frame_(frame) {}

  detail::ProcessHandle frame_;
};

namespace detail {

inline Process ProcessPromise::get_return_object() noexcept {
  return Process(ProcessHandle::from_promise(*this));
}

/// A coroutine that another calls.
class Call final : public Wait {
 public:
  explicit Call(Process&& callee) : callee_(std::move(callee)) {}
  void await_suspend(ProcessHandle caller) noexcept {
    ProcessPromise& called = callee_.frame_.promise();
    called.process = caller.promise().process;
    called.caller = &caller.promise();
    called.process->innermost = &called;
  }
  void await_resume() const {
    const ProcessPromise& called = callee_.frame_.promise();
    if (called.error) std::rethrow_exception(called.error);
  }

 private:
  Process callee_;
};

template <class T>
inline constexpr bool is_span = false;
template <class T, std::size_t n>
inline constexpr bool is_span<std::span<T, n>> = true;

/// An incomplete class, such as that of a lambda in its own body, derives from nothing.
template <class Base, class T>
constexpr bool derives_from() {
  if constexpr (requires { sizeof(T); }) return std::is_base_of_v<Base, T>;
  return false;
}

template <class Parameter>
constexpr bool is_context() {
  return derives_from<OutputContext, std::remove_pointer_t<std::remove_cvref_t<Parameter>>>();
}

/// What lives as long as the LP, or is the frame's own: a process may go on long after the event in
/// which it was made, whose payload, context and local variables are gone by then.
template <class Parameter>
constexpr bool may_be_kept() {
  using Bare = std::remove_cvref_t<Parameter>;
  if constexpr (!std::is_reference_v<Parameter>) return !is_span<Bare>;
  // Nothing that is temporary, nor a payload, binds to a reference to what may be changed.
  if constexpr (std::is_lvalue_reference_v<Parameter> &&
                !std::is_const_v<std::remove_reference_t<Parameter>>)
    return true;
  return derives_from<LogicalProcessBase, Bare>() || derives_from<Model, Bare>();
}

}  // namespace detail

inline detail::Call Process::operator co_await() && {
  return detail::Call(std::move(*this));
}

}  // namespace orrery

/// Each parameter of a coroutine that returns a Process, with that of its object first.
template <class... Parameters>
struct std::coroutine_traits<orrery::Process, Parameters...> {
  static_assert(!(orrery::detail::is_context<Parameters>() || ...),
                "a process takes no context, which is gone when it goes on: the LP's own now(), "
                "schedule(), random() and so on always go to the context of the moment");
  static_assert((orrery::detail::may_be_kept<Parameters>() && ...),
                "a process takes its parameters by value: const references, rvalue references and "
                "spans may refer to what is gone when it goes on, and so does what a lambda has "
                "captured; only LPs and models may be taken by const reference");
  using promise_type = orrery::detail::ProcessPromise;
};
