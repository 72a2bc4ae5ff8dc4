// SPDX-License-Identifier: Apache-2.0
//
// A process as a coroutine. Its frame, with its local variables and its suspension point, is an
// allocation of its LP like any other (coroutine frames come from operator new), so checkpoints,
// rollbacks, moves and snapshots cover it without special code. A model includes orrery/process.h.
//
// The processes that wait at one place form an intrusive list through their frames: waiting
// allocates nothing, and the frames and the place may be destroyed in any order.
#pragma once

#include <coroutine>
#include <cstdint>
#include <exception>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include "orrery/context.h"
#include "orrery/logical_process.h"

namespace orrery {

class Model;
class Process;

/// Names a process of an LP, also after it has ended. It may be kept and sent, but means nothing in
/// another LP.
class ProcessRef {
 public:
  /// No process.
  constexpr ProcessRef() = default;
  friend constexpr bool operator==(const ProcessRef&, const ProcessRef&) = default;

 private:
  friend class ProcessKernel;
  constexpr ProcessRef(std::uint64_t number, std::uint64_t slot) : number_(number), slot_(slot) {}

  std::uint64_t number_ = 0;  // how many processes the LP had begun, including this one: unique
  std::uint64_t slot_ = 0;
};

/// Thrown by a wait in a process that ProcessHost::interrupt has interrupted. A process that does
/// not catch it ends the run with a model fault.
class Interrupted final : public std::exception {
 public:
  explicit Interrupted(std::uint64_t why) : reason(why) {}
  const char* what() const noexcept override {
    return "the process was interrupted where it waited, and does not catch orrery::Interrupted";
  }
  std::uint64_t reason;  ///< the argument of interrupt()
};

class ProcessKernel;

namespace detail {

class ProcessPromise;
using ProcessHandle = std::coroutine_handle<ProcessPromise>;

/// Why a wait ends.
enum class Woken : std::uint8_t { as_wished, by_clock };

/// An awaitable of a process, which lies in the frame during the wait.
class Wait {
 public:
  Wait(const Wait&) = delete;
  Wait& operator=(const Wait&) = delete;
  bool await_ready() const noexcept { return false; }

 protected:
  Wait() = default;
  ~Wait() = default;
};

/// The longest duration of a wait. Unlike those of a std::optional, its members are always
/// initialised, since the checker compares the bytes of frames.
struct Limit {
  bool exists = false;
  Duration most;
};

class WaitList;
class WaitGroup;

/// A wait that another process, a handler or a timer ends. It may be a part of a group (any_of,
/// all_of): then the group waits in its place.
class ListedWait : public Wait {
 public:
  bool await_suspend(ProcessHandle frame) { return may_wait(frame) && begin(); }

 protected:
  ListedWait() = default;
  virtual ~ListedWait() { unlink(); }

  /// Begins to wait. Returns false if there is nothing to wait for.
  virtual bool begin() = 0;
  /// Ends the wait unfulfilled: its process was interrupted, or another part of its group is
  /// fulfilled. Leaves the list at once, since code that runs before the process resumes must not
  /// find this wait there.
  virtual void withdraw() { leave(); }
  /// A timer of the process has fired. Returns whether this ends the wait.
  virtual bool on_clock();
  /// What this wait does when its timer ends it.
  virtual void expire() { unlink(); }
  /// Takes back what has fulfilled this wait, since the rest of its group never was.
  virtual void give_back() {}

  /// Notes the process of `frame`. Returns false if it must not wait, since it was interrupted
  /// before.
  bool may_wait(ProcessHandle frame);
  /// Appends this wait to the list.
  void wait_in(WaitList& list, const Limit& limit = {});
  /// Lets the process wait for nothing but the timer, or what else will end this wait.
  void wait();
  void start_clock(Duration duration, std::optional<Phase> phase = {});
  void stop_clock();
  void leave() {
    stop_clock();
    unlink();
  }
  /// Resumes the process, or tells the group.
  void fulfil(Woken why = Woken::as_wished);
  /// After the wait: returns why it has ended; throws Interrupted if the process was interrupted.
  Woken settle() const;
  void unlink();
  ProcessKernel& kernel() const;
  Time now() const;

 private:
  friend class WaitList;
  friend class WaitGroup;
  friend class orrery::ProcessKernel;

  ProcessPromise* process_ = nullptr;
  WaitGroup* group_ = nullptr;
  WaitList* list_ = nullptr;
  ListedWait *previous_ = nullptr, *next_ = nullptr;
  Timer clock_;
  Time due_;  // of the clock
  Woken woken_ = Woken::as_wished;
};

/// Waits of one process that end together: all fulfilled, or one of them (orrery/process_groups.h).
/// A group may be a part of another. Fulfilling or withdrawing one part may fulfil another, so what
/// follows from that is done after the loop over the parts (`is_looping_`).
class WaitGroup : public ListedWait {
 protected:
  explicit WaitGroup(bool needs_all) : needs_all_(needs_all) {}
  ~WaitGroup() override = default;

  virtual std::span<ListedWait* const> parts() = 0;
  /// The part that has ended an any_of.
  std::size_t first() const { return first_; }

  bool begin() final;
  void withdraw() final;
  bool on_clock() final;
  void give_back() final;

 private:
  friend class ListedWait;
  void part_fulfilled(const ListedWait& part);
  void mark(std::size_t part);
  bool end_if_over();
  void end_parts(std::size_t kept);

  bool needs_all_, is_looping_ = false;
  std::size_t first_ = 0, begun_ = 0;
  std::uint64_t fulfilled_ = 0;  // a bit for each part
};

/// Waiting processes, in the order of their arrival.
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
  /// Fulfils one of these waits.
  static void wake(ListedWait& wait) {
    wait.leave();
    wait.fulfil();
  }
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

/// The compiler's part of a frame. A process may have several frames: that of the coroutine given
/// to spawn(), and those of the coroutines called by co_await, each the caller of the next.
class ProcessPromise {
 public:
  Process get_return_object() noexcept;
  std::suspend_always initial_suspend() const noexcept { return {}; }
  std::suspend_always final_suspend() const noexcept { return {}; }
  void return_void() const noexcept {}
  void unhandled_exception() noexcept { error = std::current_exception(); }

  std::exception_ptr error;          // exception that left the coroutine
  ProcessPromise* process = this;    // the outermost frame
  ProcessPromise* caller = nullptr;  // the frame that waits for this one to end

  // Used in the outermost frame only.
  ProcessKernel* kernel = nullptr;
  ProcessPromise* innermost = this;      // the frame to resume
  ProcessPromise* next_ready = nullptr;  // in the list of processes that resume in this event
  ListedWait* wait = nullptr;            // the current wait, if it is in a list
  WaitList waiting_for_end;
  std::uint64_t number = 0;  // see ProcessRef
  std::uint64_t reason = 0;  // of the interrupt
  std::uint32_t slot = 0;
  bool waiting = false;
  bool is_interrupted = false;     // the wait has ended by an interrupt
  bool interrupt_pending = false;  // interrupted while it did not wait
};

}  // namespace detail

/// A coroutine that is a process, or a part of one:
///
///   orrery::Process customer(int number);
///
/// The coroutine does nothing until it is given to spawn(), which makes a process of it, or until
/// another coroutine calls it, `co_await customer(7)`, and resumes when it has ended; exceptions
/// pass on to the caller. It takes its parameters by value (see below).
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

  /// Calls the coroutine from another one.
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

/// The wait for a coroutine that another one has called.
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

/// Whether a parameter is a copy in the frame or lives as long as the LP. A process may resume long
/// after the event in which it was made, whose payload, context and local variables no longer
/// exist.
template <class Parameter>
constexpr bool may_be_kept() {
  using Bare = std::remove_cvref_t<Parameter>;
  if constexpr (!std::is_reference_v<Parameter>) return !is_span<Bare>;
  // Neither a temporary nor a payload binds to a reference to non-const.
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

/// Checks each parameter of a coroutine that returns a Process, its object included.
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
