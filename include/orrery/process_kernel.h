// SPDX-License-Identifier: Apache-2.0
//
// The scheduler of an LP's processes: which exist, which resume, and in which event. It is plain
// state of the LP. A model includes orrery/process.h.
//
// Waking a process (by a handler, another process, the clock) appends it to a ready list, and the
// processes in the list resume one after another before the event ends. So no code of a model runs
// in the middle of another's statement, simultaneous wakings cost one event, and the order is that
// of the wakings, the same on every engine.
//
// A process that waits for the clock has a pending event with the number of its slot and a count
// that changes whenever the slot's process is woken. An event that comes too late, for a process
// that was interrupted or has ended, finds another count and does nothing. The count is not reused
// within 2^40 wakings of a slot, as many as an LP can send events.
#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "orrery/context.h"
#include "orrery/error.h"
#include "orrery/process_frame.h"

namespace orrery {

/// The event that wakes a process.
struct ProcessWake {
  std::uint64_t word;  ///< the slot, and above it the slot's count of wakings
};

class ProcessKernel {
 public:
  ProcessKernel() = default;
  ProcessKernel(const ProcessKernel&) = delete;
  ProcessKernel& operator=(const ProcessKernel&) = delete;
  /// Destroys the processes that have not ended. Their local variables are destructed after the
  /// members of the LP's own class.
  ~ProcessKernel() {
    context_ = nullptr;
    // A frame whose code was dropped in the middle of a handler cannot be destroyed.
    for (const Slot& slot : slots_)
      if (slot.process != nullptr && slot.process != running_) destroy(*slot.process);
  }

  /// Executes `action`, and then the ready processes, all with this context.
  template <class Action>
  void in_event(Context& context, Action&& action) {
    const Moment moment(context_, context);
    action();
    run_ready();
  }

  bool is_in_event() const { return context_ != nullptr; }
  Context& context() const {
    if (context_ == nullptr) [[unlikely]]
      throw std::logic_error(
          "a function of the process LP was called outside of begin(), handlers and processes");
    return *context_;
  }

  ProcessRef spawn(Process process) {
    detail::ProcessPromise& promise = process.frame_.promise();
    context();
    promise.slot = take_slot();
    promise.kernel = this;
    promise.number = ++spawned_;
    slots_[promise.slot].process = &promise;
    process.frame_ = nullptr;
    append_ready(promise);
    return ref(promise);
  }

  /// Null if the process has ended.
  detail::ProcessPromise* find(ProcessRef process) const {
    if (process.slot_ >= slots_.size()) return nullptr;
    detail::ProcessPromise* const found = slots_[process.slot_].process;
    return found != nullptr && found->number == process.number_ ? found : nullptr;
  }
  ProcessRef running() const { return running_ != nullptr ? ref(*running_) : ProcessRef(); }
  std::uint64_t process_count() const { return slots_.size() - free_slots_.size(); }

  bool interrupt(ProcessRef process, std::uint64_t reason) {
    detail::ProcessPromise* const found = find(process);
    if (found == nullptr) return false;
    found->reason = reason;
    if (found->waiting) {
      if (detail::ListedWait* const wait = std::exchange(found->wait, nullptr)) wait->withdraw();
      found->is_interrupted = true;
      make_ready(*found);
    } else {
      found->interrupt_pending = true;
    }
    return true;
  }

  /// A number that changes whenever a process resumes.
  std::uint64_t turn() const { return turn_; }
  /// Ends the event with a model fault when the running process waits or ends, for a destructor
  /// that cannot throw. `why` must be a literal.
  void refuse(const char* why) { refusal_ = why; }

  /// Called when the process reaches a wait. Returns false if it must not wait, since it was
  /// interrupted before.
  static bool may_wait(detail::ProcessPromise& process) {
    process.is_interrupted = std::exchange(process.interrupt_pending, false);
    return !process.is_interrupted;
  }
  static void throw_if_interrupted(const detail::ProcessPromise& process) {
    if (process.is_interrupted) throw Interrupted(process.reason);
  }
  /// The event that ends the wait that is about to begin.
  ProcessWake wake_of(const detail::ProcessPromise& process) const {
    return ProcessWake{slots_[process.slot].wakings << kSlotBits | process.slot};
  }
  /// Lets a waiting process resume in this event.
  void make_ready(detail::ProcessPromise& process) {
    context();
    process.waiting = false;
    ++slots_[process.slot].wakings;
    append_ready(process);
  }
  void wake(const ProcessWake& wake) {
    const std::uint64_t slot = wake.word & (kSlotsMax - 1);
    if (slot >= slots_.size() || slots_[slot].wakings << kSlotBits != wake.word - slot) return;
    detail::ProcessPromise* const process = slots_[slot].process;
    if (process == nullptr || !process->waiting) return;
    if (process->wait == nullptr) return make_ready(*process);  // a plain delay
    if (process->wait->on_clock()) process->wait->fulfil(detail::Woken::by_clock);
  }

 private:
  static constexpr unsigned kSlotBits = 24;
  static constexpr std::uint64_t kSlotsMax = std::uint64_t{1} << kSlotBits;
  /// In one event. More are a livelock: processes that wake each other for ever.
  static constexpr std::uint64_t kResumptionsMax = std::uint64_t{1} << 20;

  struct Slot {
    detail::ProcessPromise* process;
    std::uint64_t wakings;  // of all processes that had this slot
  };

  class Moment {
   public:
    Moment(Context*& place, Context& context) : place_(place) { place_ = &context; }
    Moment(const Moment&) = delete;
    Moment& operator=(const Moment&) = delete;
    ~Moment() { place_ = nullptr; }

   private:
    Context*& place_;
  };

  static ProcessRef ref(const detail::ProcessPromise& process) {
    return ProcessRef(process.number, process.slot);
  }
  static void destroy(detail::ProcessPromise& process) {
    detail::ProcessHandle::from_promise(process).destroy();
  }

  std::uint32_t take_slot() {
    if (!free_slots_.empty()) {
      const std::uint32_t slot = free_slots_.back();
      free_slots_.pop_back();
      return slot;
    }
    if (slots_.size() == kSlotsMax)
      throw std::length_error("an LP has at most " + std::to_string(kSlotsMax) +
                              " processes at a time");
    slots_.push_back({nullptr, 0});
    return static_cast<std::uint32_t>(slots_.size() - 1);
  }

  void append_ready(detail::ProcessPromise& process) {
    (last_ready_ != nullptr ? last_ready_->next_ready : first_ready_) = &process;
    last_ready_ = &process;
  }
  detail::ProcessPromise& take_ready() {
    detail::ProcessPromise& process = *first_ready_;
    first_ready_ = std::exchange(process.next_ready, nullptr);
    if (first_ready_ == nullptr) last_ready_ = nullptr;
    return process;
  }

  void run_ready() {
    for (std::uint64_t resumptions = 0; first_ready_ != nullptr; ++resumptions) {
      if (resumptions == kResumptionsMax)
        throw ModelFault("livelock: processes went on " + std::to_string(kResumptionsMax) +
                         " times in one event, each woken by another; a delay must be missing");
      run(take_ready());
    }
  }

  /// Resumes the process until it waits or ends. Only this function resumes frames, never another
  /// frame, so that the stack does not grow with the number of calls.
  void run(detail::ProcessPromise& process) {
    for (;;) {
      const auto frame = detail::ProcessHandle::from_promise(*process.innermost);
      running_ = &process;
      ++turn_;
      frame.resume();
      running_ = nullptr;
      if (refusal_ != nullptr) [[unlikely]]
        throw std::logic_error(std::exchange(refusal_, nullptr));
      if (frame.done()) {
        if (&frame.promise() == &process) return end(process);
        process.innermost = frame.promise().caller;
      } else if (process.innermost == &frame.promise()) {  // else it has called another
        return expect_waiting(process);
      }
    }
  }

  static void expect_waiting(const detail::ProcessPromise& process) {
    if (!process.waiting)
      throw std::logic_error(
          "a process waits for something that nobody will wake it from; it can co_await delay(), "
          "ended(), Signal::wait(), Mailbox::receive(), Servers::acquire(), "
          "PreemptiveServers::work(), Container::get() and put(), any_of(), all_of() and another "
          "Process");
  }

  void end(detail::ProcessPromise& process) {
    const std::exception_ptr error = std::move(process.error);
    process.waiting_for_end.wake_all();
    Slot& slot = slots_[process.slot];
    slot.process = nullptr;
    ++slot.wakings;
    free_slots_.push_back(process.slot);
    destroy(process);
    if (error) std::rethrow_exception(error);
  }

  Context* context_ = nullptr;  // between events: null
  detail::ProcessPromise* running_ = nullptr;
  detail::ProcessPromise *first_ready_ = nullptr, *last_ready_ = nullptr;  // between events: null
  std::uint64_t spawned_ = 0, turn_ = 0;
  const char* refusal_ = nullptr;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_slots_;
};

namespace detail {

inline ProcessKernel& ListedWait::kernel() const {
  return *process_->kernel;
}
inline Time ListedWait::now() const {
  return kernel().context().now();
}
inline bool ListedWait::may_wait(ProcessHandle frame) {
  process_ = frame.promise().process;
  return ProcessKernel::may_wait(*process_);
}

inline void ListedWait::wait() {
  if (group_ != nullptr) return;
  process_->waiting = true;
  process_->wait = this;
}

inline void ListedWait::wait_in(WaitList& list, const Limit& limit) {
  if (limit.exists) start_clock(limit.most);
  list_ = &list;
  previous_ = list.last_;
  (previous_ != nullptr ? previous_->next_ : list.first_) = this;
  list.last_ = this;
  wait();
}

inline void ListedWait::start_clock(Duration duration, std::optional<Phase> phase) {
  Context& context = kernel().context();
  const ProcessWake wake = kernel().wake_of(*process_);
  clock_ = phase ? context.schedule_timer(duration, wake, *phase)
                 : context.schedule_timer(duration, wake);
  due_ = context.now() + duration;
}

inline void ListedWait::stop_clock() {
  if (clock_) kernel().context().cancel(std::exchange(clock_, Timer()));
}

/// Several timers of a group wake the process by equal events. They fire in the order of the parts.
inline bool ListedWait::on_clock() {
  if (!clock_ || due_ != now()) return false;
  clock_ = Timer();
  expire();
  return true;
}

inline void ListedWait::fulfil(Woken why) {
  woken_ = why;
  if (group_ != nullptr) return group_->part_fulfilled(*this);
  process_->wait = nullptr;
  kernel().make_ready(*process_);
}

inline Woken ListedWait::settle() const {
  ProcessKernel::throw_if_interrupted(*process_);
  return woken_;
}

}  // namespace detail
}  // namespace orrery
