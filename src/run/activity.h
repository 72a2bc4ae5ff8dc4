// SPDX-License-Identifier: Apache-2.0
//
// Which model code a thread runs: for those who must say so when the thread itself cannot, because
// it has crashed (crash_guard.h) or does not come back from a handler (observe/watch.h).
//
// The event path pays two stores of a byte for it: an execution marks its handler as running, all
// else (LP, event, time) it knows anyway. A thread points to its execution once. What may be asked
// from outside is asked of the thread itself, by a signal, so that nothing has to be published.
//
// The thread-local pointer is one of the few things that do not hang off a run object: the handler
// of a signal has no other way to its run. It is local-exec like the mode (application_mode.h).
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

/// Model code in progress. Trivial to copy, so that a signal's handler can leave one.
struct ModelCode {
  const char* call = nullptr;  ///< "finish()"; nullptr: a handler, or start()
  bool of_lp = true;           ///< `lp` means something
  LpId lp = 0;
  Key cause;               ///< of a handler
  std::string_view event;  ///< its event's type, static text; empty: start()
  double tick_seconds = 1e-9;
  bool speculative = false;  ///< it may see a state that never commits

  /// The same call, as far as can be told.
  friend bool operator==(const ModelCode& a, const ModelCode& b) {
    return a.call == b.call && a.of_lp == b.of_lp && a.lp == b.lp && a.cause == b.cause;
  }
};

/// "LP 5, event Arrival at 12.5 s (tick 12500)", "LP 5, finish()", "prepare()".
std::string describe(const ModelCode& code);
/// The same into a buffer, without allocating, for handlers of signals. Returns its length.
std::size_t describe(const ModelCode& code, char* out, std::size_t bytes);

/// Whose handlers a thread calls.
class HandlerExecution {
 public:
  /// For the thread itself and its signals' handlers: what runs now, if anything does.
  bool running() const { return running_.load(std::memory_order_relaxed); }
  /// Fills in LP, key and event. Only while it runs.
  virtual void tell(ModelCode& code) const = 0;
  /// What ran was dropped.
  void forget() const { running_.store(false, std::memory_order_relaxed); }

 protected:
  HandlerExecution() = default;
  ~HandlerExecution() = default;

  /// Around the call of a handler. Relaxed, with fences for the compiler: only a signal's handler
  /// on the same thread looks.
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

/// The model code that the calling thread was in has been dropped (core/model_stack.h).
void forget_model_code();

/// Tells a crash in words of its own.
class CrashTeller {
 public:
  /// In the handler of the signal; false if it has nothing to say. It may end the process.
  virtual bool tell(int signal) const = 0;

 protected:
  ~CrashTeller() = default;
};

class ThreadWatch;
class ModelText;

/// What the code of a model that ends is called; the run is over then.
inline constexpr const char* kModelDestructor = "the model's destructor";

/// What is known of a thread.
struct Activity {
  const HandlerExecution* handlers = nullptr;
  const CrashTeller* teller = nullptr;
  const char* call = nullptr;  ///< other model code that it runs, see ModelCall
  LpId lp = 0;
  bool of_lp = false;
  bool speculative = false;
  double tick_seconds = 1e-9;
  ThreadWatch* watch = nullptr;
  const ModelText* text = nullptr;
  const std::byte *stack_begin = nullptr, *stack_end = nullptr;
};
extern constinit thread_local Activity activity [[gnu::tls_model("local-exec")]];

/// Whether the calling thread runs model code, and which. Safe in handlers of signals.
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

/// What a thread is asked to end, why, and where that can be.
struct EndOfCall {
  ModelCode code;
  const Crash* crash = nullptr;
  bool at_last = false;  ///< with the process, if there is no other way
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
  /// Asks all what they are doing; those in model code. A thread that does not answer within a
  /// tenth of a second is left out.
  std::vector<Sighting> look();

  /// Drops that call as if it had crashed; false if it goes on, since it could not be dropped where
  /// it was. Where its thread can drop nothing at all the process ends.
  bool end(const ThreadWatch& thread, const EndOfCall& what);

 private:
  friend class ThreadWatch;
  void ask(ThreadWatch& thread) const;
  bool answers(const ThreadWatch& thread, int& waited_ms) const;

  std::mutex mutex_;  ///< while a thread is asked it does not go
  std::vector<ThreadWatch*> threads_;
  std::uint32_t round_ = 0;
};

/// Where the calling thread's handlers of signals run when its own stack is exhausted, which is
/// noted, too, as long as this exists. Does nothing in a thread that has one.
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
  std::unique_ptr<std::byte[]> memory_;  ///< nullptr: it had one
};

/// The calling thread takes part in a run as long as this exists: it can be asked what it does, and
/// its crashes have a stack to be told on. One within another only changes whose handlers it calls.
class ThreadWatch {
 public:
  /// A thread that calls no handlers, but perhaps other code of the model.
  ThreadWatch(WatchedThreads& threads, const Model& model);
  /// `speculative`: handlers may see states that never commit.
  ThreadWatch(WatchedThreads& threads, const Model& model, const HandlerExecution& handlers,
              bool speculative);
  ~ThreadWatch();
  ThreadWatch(const ThreadWatch&) = delete;
  ThreadWatch& operator=(const ThreadWatch&) = delete;

  /// Whether somebody else handles the signal that threads are asked with, SIGURG.
  static bool signal_is_taken();

  /// From now on the calling thread calls the handlers of another execution of its run.
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
  std::unique_ptr<const ModelText> text_;    ///< nullptr: an outer one has it
  std::optional<SignalStack> signal_stack_;  ///< empty: an outer one has it
  // Who asks stores `asked_` (relaxed: pthread_kill orders it), the thread's handler writes the
  // answer and then stores `answered_` with release; who asks reads that with acquire. What else is
  // asked is stored only after the last answer has come.
  std::atomic<std::uint32_t> asked_{0}, answered_{0};
  std::optional<ModelCode> answer_;
  EndOfCall end_;  ///< to be heeded in that round; stored before `asked_`
  std::uint32_t end_round_ = 0;
  bool ended_ = false;  ///< stored before `answered_`
};

}  // namespace orrery
