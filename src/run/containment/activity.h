// SPDX-License-Identifier: Apache-2.0
//
// The model code that a thread is running, for reports that the thread itself cannot make, because
// it has crashed (crash_guard.h) or does not return from a handler (output/watch.h).
//
// The event path pays two stores of a byte: an execution marks its handler as running, and has the
// other facts (LP, event, time) anyway. A thread sets a pointer to its execution once. Other
// threads get the answer from the thread itself, by a signal, so that nothing has to be published.
//
// The thread-local pointer is one of the few things that do not belong to a run object, since a
// signal handler has no other way to its run. It is local-exec like the mode (application_mode.h).
#pragma once

#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/crash.h"
#include "core/key.h"
#include "orrery/model.h"

namespace orrery {

/// Model code in progress. Trivially copyable, so that a signal handler can be left while it has
/// one.
struct ModelCode {
  const char* call = nullptr;  ///< "finish()"; nullptr: a handler, or start()
  bool of_lp = true;           ///< `lp` is valid
  LpId lp = 0;
  Key cause;               ///< of a handler
  std::string_view event;  ///< the type of that event, static text; empty: start()
  double tick_seconds = 1e-9;
  bool speculative = false;  ///< the call may see a state that never commits

  /// Whether both are the same call, as far as these fields show.
  friend bool operator==(const ModelCode& a, const ModelCode& b) {
    return a.call == b.call && a.of_lp == b.of_lp && a.lp == b.lp && a.cause == b.cause;
  }
};

/// "LP 5, event Arrival at 12.5 s (tick 12500)", "LP 5, finish()", "prepare()".
std::string describe(const ModelCode& code);
/// The same into a buffer, without allocating, for signal handlers. Returns the length.
std::size_t describe(const ModelCode& code, char* out, std::size_t bytes);

/// The execution whose handlers a thread calls.
class HandlerExecution {
 public:
  /// Whether a handler is running; for the thread itself and its signal handlers.
  bool running() const { return running_.load(std::memory_order_relaxed); }
  /// Fills in LP, key and event. Only while a handler is running.
  virtual void tell(ModelCode& code) const = 0;
  /// Called after the running handler was dropped.
  void forget() const { running_.store(false, std::memory_order_relaxed); }

 protected:
  HandlerExecution() = default;
  ~HandlerExecution() = default;

  /// Scope of a handler's call. Relaxed, with compiler fences: only a signal handler on the same
  /// thread reads the flag.
  class Running {
   public:
    explicit Running(HandlerExecution& execution) : running_(execution.running_) {
      running_.store(true, std::memory_order_relaxed);
      std::atomic_signal_fence(std::memory_order_seq_cst);
    }
    ~Running() {
      std::atomic_signal_fence(std::memory_order_seq_cst);
      running_.store(false, std::memory_order_relaxed);
    }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

   private:
    std::atomic<bool>& running_;
  };

 private:
  mutable std::atomic<bool> running_{false};
};

/// Call after the running model code of this thread was dropped (core/model_stack.h).
void forget_model_code();

/// Reports a crash in its own words.
class CrashTeller {
 public:
  /// In the signal handler; false if it has nothing to report. May end the process.
  virtual bool tell(int signal) const = 0;

 protected:
  ~CrashTeller() = default;
};

class ThreadWatch;
class ModelText;

/// Name of the destructor's call, which happens after the run.
inline constexpr const char* kModelDestructor = "the model's destructor";

/// The state of a thread for such reports.
struct Activity {
  const HandlerExecution* handlers = nullptr;
  const CrashTeller* teller = nullptr;
  const char* call = nullptr;  ///< running model code other than a handler, see ModelCall
  LpId lp = 0;
  bool of_lp = false;
  bool speculative = false;
  double tick_seconds = 1e-9;
  ThreadWatch* watch = nullptr;
  const ModelText* text = nullptr;
  const std::byte *stack_begin = nullptr, *stack_end = nullptr;
};
extern constinit thread_local Activity activity [[gnu::tls_model("local-exec")]];

/// Whether the calling thread runs model code, and which. Safe in signal handlers.
bool runs_model_code();
std::optional<ModelCode> running_model_code();

/// Marks a call of model code that is not a handler: prepare(), finish(), ...
class ModelCall {
 public:
  explicit ModelCall(const char* what) { enter(what, 0, false); }
  ModelCall(const char* what, LpId lp) { enter(what, lp, true); }
  ~ModelCall() {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    activity.call = call_;
    activity.lp = lp_;
    activity.of_lp = of_lp_;
  }
  ModelCall(const ModelCall&) = delete;
  ModelCall& operator=(const ModelCall&) = delete;

 private:
  void enter(const char* what, LpId lp, bool of_lp) {
    activity.lp = lp;
    activity.of_lp = of_lp;
    activity.call = what;
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  const char* const call_ = activity.call;
  const LpId lp_ = activity.lp;
  const bool of_lp_ = activity.of_lp;
};

/// A request to end a thread's call: which call, why, and by which means.
struct EndOfCall {
  ModelCode code;
  const Crash* crash = nullptr;
  bool at_last = false;  ///< end the process if the call cannot be dropped
};

/// The threads of a run that may execute model code.
class WatchedThreads {
 public:
  WatchedThreads() = default;
  WatchedThreads(const WatchedThreads&) = delete;
  WatchedThreads& operator=(const WatchedThreads&) = delete;

  struct Sighting {
    const ThreadWatch* thread;
    ModelCode code;
  };
  /// Asks all threads for their activity; returns those in model code. A thread that does not
  /// answer within a tenth of a second is left out.
  std::vector<Sighting> look();

  /// Drops that call as if it had crashed; false if the call continues, since it could not be
  /// dropped at that moment. If its thread cannot drop anything at all, the process ends.
  bool end(const ThreadWatch& thread, const EndOfCall& what);

 private:
  friend class ThreadWatch;
  void ask(ThreadWatch& thread) const;
  bool answers(const ThreadWatch& thread, int& waited_ms) const;

  std::mutex mutex_;  ///< prevents a thread from leaving while it is asked
  std::vector<ThreadWatch*> threads_;
  std::uint32_t round_ = 0;
};

/// An alternate stack for the calling thread's signal handlers, for when its own stack is
/// exhausted; also notes the bounds of the thread's stack. Does nothing if the thread already has
/// such a stack.
class SignalStack {
 public:
  SignalStack();
  ~SignalStack();
  SignalStack(const SignalStack&) = delete;
  SignalStack& operator=(const SignalStack&) = delete;

 private:
  void take();
  void note_stack();

  const std::byte *const begin_before_, *const end_before_;
  std::unique_ptr<std::byte[]> memory_;  ///< nullptr: the thread had one
};

/// Makes the calling thread part of a run while this object lives: other threads can ask for its
/// activity, and its crashes are reported on a separate stack. A nested one changes only the
/// execution.
class ThreadWatch {
 public:
  /// For a thread that calls no handlers, but perhaps other model code.
  ThreadWatch(WatchedThreads& threads, const Model& model);
  /// `speculative`: handlers may see states that never commit.
  ThreadWatch(WatchedThreads& threads, const Model& model, const HandlerExecution& handlers,
              bool speculative);
  ~ThreadWatch();
  ThreadWatch(const ThreadWatch&) = delete;
  ThreadWatch& operator=(const ThreadWatch&) = delete;

  /// Whether other code handles SIGURG, the signal with which threads are asked.
  static bool signal_is_taken();

  /// Sets another execution of the same run as the calling thread's own.
  static void turn_to(const HandlerExecution& handlers) {
    activity.handlers = &handlers;
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }

 private:
  friend class WatchedThreads;
  static void on_signal(int number, siginfo_t* info, void* context);
  void answer(const void* context);
  bool is_to_end(std::uint32_t asked, void** place, bool may_end, const void* context) const;

  WatchedThreads& threads_;
  const Activity outer_;
  const pthread_t thread_ = pthread_self();
  std::unique_ptr<const ModelText> text_;    ///< nullptr: an outer ThreadWatch has it
  std::optional<SignalStack> signal_stack_;  ///< empty: an outer ThreadWatch has it
  // The asking thread stores `asked_` (relaxed: pthread_kill orders the store). The thread's signal
  // handler writes the answer and then stores `answered_` with release; the asking thread loads it
  // with acquire. Other requests are stored only after the last answer has come.
  std::atomic<std::uint32_t> asked_{0}, answered_{0};
  std::optional<ModelCode> answer_;
  EndOfCall end_;  ///< valid in that round; stored before `asked_`
  std::uint32_t end_round_ = 0;
  bool ended_ = false;  ///< stored before `answered_`
};

}  // namespace orrery
