// SPDX-License-Identifier: Apache-2.0
//
// Recovery of a thread from model code that crashes or is interrupted. A handler that has crashed
// is *dropped*: its frames are abandoned, and the thread resumes at the place that the platform has
// set (`recoverable`). The caller must undo the handler's changes to its LP, as after an exception.
// Nothing is unwound: destructors of the handler's objects do not run; these objects lie on the
// abandoned part of the stack, or in the LP's heap, which a rollback restores.
//
// (Taking the processor from an event for more urgent work: Pellegrini and Quaglia, A fine-grain
// time-sharing Time Warp system, ACM TOMACS 27(2), 2017. They leave the event's handler through the
// interrupt of a patched kernel; here a signal handler in user space does it.)
//
// Setting a place costs two nanoseconds, the time to save the callee-saved registers. So an engine
// with short events sets one place for a batch of events and notes which event is running.
//
// Threads execute model code on a stack of the platform. Below it lies a *reserve*: platform code
// that runs out of stack must not be dropped in the middle, so it continues in the reserve. A
// handler that has used too much of the reserve is dropped when that platform code returns
// (heed_attention).
//
// Platform code is never dropped, nor is malloc on an LP's heap, whose tables would stay
// inconsistent. A crash there ends the process (run/containment/crash_guard.h, which also says what
// is dropped if LPs lie in ordinary memory, without modes). So does every crash without stacks of
// the platform: on other processors than x86-64, and with the sanitizers that check stacks
// themselves. There the platform can still leave a handler that has called it (squash), by the C
// library's longjmp, which sanitizers support, so that interrupting handlers at calls of the
// platform is tested with them, too.
#pragma once

#include <setjmp.h>
#include <signal.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/crash.h"
#include "memory/application_mode.h"

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define ORRERY_MODEL_STACKS 1
#else
#define ORRERY_MODEL_STACKS 0
#endif

namespace orrery {

/// A thread's calls of model code. Read only by signal handlers of the same thread, which see the
/// compiler's order.
struct ModelCalls {
  void** place =
      nullptr;  ///< the innermost to resume at, as ORRERY_NOTE_REGISTERS writes it; or nullptr
  /// The platform's stack, or the thread's own where there are none; nullptr: not within
  /// on_model_stack.
  std::byte* stack_begin = nullptr;
  std::size_t stack_bytes = 0;
  bool harmless = false;            ///< the running code may be dropped in platform mode, too
  bool in_ordinary_memory = false;  ///< LPs lie there: the mode does not mark their code
  bool squashed = false;            ///< the last drop was a squash(), not a crash
  bool has_words = false;           ///< `crash` is the reason of a coming SIGABRT
  Crash crash;                      ///< of the last dropped call, or of the one to be dropped
  void (*on_drop)() = nullptr;      ///< called after a drop: ends the record of the call
  /// Called in model code when something more urgent may wait (memory::kLook). See
  /// ThreadContext::on_attention.
  void (*on_look)(const void* caller) = nullptr;
};
extern constinit thread_local ModelCalls model_calls [[gnu::tls_model("local-exec")]];

/// The signal that asks a thread of a run to report its activity or to look for more urgent work.
/// Ignored by default, so that a late signal does no harm. Blocked during its handler: the handler
/// may have interrupted a library that holds a lock, which the instruction that a second signal
/// would interrupt does not show.
inline constexpr int kAttentionSignal = SIGURG;
/// Unblocks the signal in its handler, before a jump out of it or a call of the model's handlers.
void let_in_attention_signal();

namespace detail {
/// Exceptions being thrown or handled: the Itanium C++ ABI's __cxa_eh_globals (2.2.2).
struct Exceptions {
  void* caught;
  unsigned uncaught;
};
Exceptions exceptions();
void set_exceptions(const Exceptions& exceptions);

/// The registers that make up a place, and how to save them: twice as fast as the C library's
/// setjmp, which would also have to be informed of each change of stacks.
#if ORRERY_MODEL_STACKS
using Registers = void* [5];
#define ORRERY_NOTE_REGISTERS(registers) __builtin_setjmp(registers)
#else
using Registers = jmp_buf;
#define ORRERY_NOTE_REGISTERS(registers) _setjmp(registers)
#endif

/// Resumes at the place, where `recoverable` returns false.
[[noreturn]] void drop();
/// Called at the place: restores what the destructors of the abandoned frames would have restored.
void clean_up_after_drop(const Exceptions& before);

/// A call of `action`, as a function and its argument.
struct ErasedCall {
  void (*function)(void*);
  void* argument;

  template <class Action>
  explicit ErasedCall(Action& action)
      : function([](void* self) { (*static_cast<Action*>(self))(); }),
        argument(const_cast<void*>(static_cast<const void*>(std::addressof(action)))) {}
};
void call_on_model_stack(const ErasedCall& call);
}  // namespace detail

/// Runs `action`, which calls model code; returns false if it was dropped, for the reason in
/// model_calls, with the mode restored. Exceptions of the action pass through. Not inlined, since
/// it returns a second time after a drop.
template <class Action>
[[gnu::noinline]] bool recoverable(Action&& action) {
  struct Place {
    detail::Registers registers;
    void** const outer = model_calls.place;
    memory::LpHeap* const heap = memory::running_heap();
    const detail::Exceptions exceptions = detail::exceptions();
    ~Place() { model_calls.place = outer; }
  } place;
  model_calls.place = reinterpret_cast<void**>(&place.registers);
  if (ORRERY_NOTE_REGISTERS(place.registers) != 0) {
    memory::thread_context.heap = place.heap;
    detail::clean_up_after_drop(place.exceptions);
    return false;
  }
  // An opaque call: for the compiler only calls can return to the place, so a crash of inlined code
  // would find no valid state there.
  detail::ErasedCall call(action);
  asm("" : "+r"(call.function));
  call.function(call.argument);
  return true;
}

/// The same for platform code without effects, which may be dropped anywhere because it reads the
/// state that a crash has left.
template <class Action>
bool look_at_remains(Action&& action) {
  struct Harmless {
    Harmless() {
      model_calls.harmless = true;
      std::atomic_signal_fence(std::memory_order_seq_cst);
    }
    ~Harmless() {
      std::atomic_signal_fence(std::memory_order_seq_cst);
      model_calls.harmless = false;
    }
  };
  return recoverable([&action] {
    const Harmless harmless;
    action();
  });
}

/// Throws model_calls.crash as an exception of the model.
[[noreturn]] void throw_crash();

/// Runs `action` on a stack of the platform, twice as large as the system's limit: the second half
/// is for a handler that runs while another is suspended. Nested calls, and calls without memory
/// for a stack, run `action` on the current stack.
template <class Action>
void on_model_stack(Action&& action) {
  detail::call_on_model_stack(detail::ErasedCall(action));
}

/// What may run on the stack beside a handler whose stack pointer is `stack_pointer`.
enum class StackRoom : std::uint8_t { none, for_the_platform, for_a_handler };
StackRoom stack_room(const void* stack_pointer);
/// Drops the running handler, whose result is no longer needed.
[[noreturn]] void squash();

/// In a signal handler, from its third argument: the interrupted code.
CodePoint code_point(const void* context);
/// In a signal handler: the crash of the calling thread's model code that the signal means.
Crash crash_of(int number, const siginfo_t* info);
/// In a signal handler: whether the thread continues, either without the crashed code or on the
/// reserve of its stack. If so, the handler must return, and `context` has been changed.
bool survives_crash(int number, const siginfo_t* info, void* context);
/// Whether the running model code may be dropped. Callable in signal handlers.
bool may_drop();
/// In a signal handler: records a crash of the interrupted model code.
void note_crash(const Crash& crash, const void* context);
/// Resumes at that place, where model_calls.crash is the reason. Signals are blocked there unless
/// the caller unblocks them.
[[noreturn]] void drop_to(void** place);
/// Called before this crash ends the process: drops the model code that caused it, or returns.
void drop_or_note(const Crash& crash);

}  // namespace orrery
