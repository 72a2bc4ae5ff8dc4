// SPDX-License-Identifier: Apache-2.0
//
// Model code that the platform can take the processor back from. A handler that has crashed is
// *dropped*: its frames are left as they are, and the thread goes on where the platform had said
// that it could (`recoverable`). What the handler did to its LP must be undone by who can undo it,
// as after an exception. Nothing is unwound: destructors of the handler's objects do not run; those
// lie on the part of the stack that is left, or in the LP's heap, which a rollback restores.
//
// (To take the processor back from an event, and give it to what is more urgent: Pellegrini and
// Quaglia, A fine-grain time-sharing Time Warp system, ACM TOMACS 27(2), 2017. They leave the
// event's handler through a patched kernel's interrupt; here the handler of a signal in user space
// does it.)
//
// A place to go on at costs two nanoseconds, as much as the registers that calls preserve take to
// save. So an engine with short events has one for a batch of them and knows which of them failed.
//
// Threads that execute model code run on a stack of ours. Beneath it lies a *reserve*: platform
// code that runs out of stack must not be dropped in the middle, so it goes on there. A handler
// that has come to reach into it is dropped when that code returns (heed_attention).
//
// What is not dropped: platform code, and malloc on an LP's heap, whose tables would stay half
// changed. Such a crash ends the process (run/crash_guard.h, which also says what is dropped in
// ordinary memory, where there is no mode). So do all where stacks of ours are not known: on other
// processors, and with the sanitizers that watch stacks themselves. There the platform can still
// leave a handler that has called it (squash), by the C library's longjmp, which sanitizers know:
// so what interrupts handlers at calls of the platform is tested under them, too.
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

/// A thread's calls of model code. Read by handlers of signals of the same thread only, which see
/// the compiler's order.
struct ModelCalls {
  void** place =
      nullptr;  ///< the innermost to go on at, as ORRERY_NOTE_REGISTERS writes; or nullptr
  /// Of the stack of ours, or of the thread's own where there are none; nullptr: not within
  /// on_model_stack.
  std::byte* stack_begin = nullptr;
  std::size_t stack_bytes = 0;
  bool harmless = false;            ///< what runs may be dropped in platform mode, too
  bool in_ordinary_memory = false;  ///< LPs lie there, so that no mode tells their code from ours
  bool squashed = false;        ///< what was dropped last is not wanted any more; it did not crash
  bool has_words = false;       ///< `crash` says why SIGABRT comes
  Crash crash;                  ///< of the call that was dropped last, or is to be
  void (*on_drop)() = nullptr;  ///< forgets which call it was
  /// Something more urgent may wait (memory::kLook); in model code. See
  /// ThreadContext::on_attention.
  void (*on_look)(const void* caller) = nullptr;
};
extern constinit thread_local ModelCalls model_calls [[gnu::tls_model("local-exec")]];

/// What a thread of a run is asked with to say what it does, or to look around. Ignored by default,
/// so that one that comes late does no harm. While it is handled it is blocked: in its handler the
/// thread may be over a library that holds a lock, but the instruction that another would interrupt
/// does not show that.
inline constexpr int kAttentionSignal = SIGURG;
/// In its handler, before that is left other than by returning, or calls handlers of the model.
void let_in_attention_signal();

namespace detail {
/// What is being thrown or handled: the Itanium C++ ABI's __cxa_eh_globals (2.2.2).
struct Exceptions {
  void* caught;
  unsigned uncaught;
};
Exceptions exceptions();
void set_exceptions(const Exceptions& exceptions);

/// What of the thread's registers a place is, and noting it: twice as quick as the C library's,
/// which would also have to be told of each change of stacks.
#if ORRERY_MODEL_STACKS
using Registers = void* [5];
#define ORRERY_NOTE_REGISTERS(registers) __builtin_setjmp(registers)
#else
using Registers = jmp_buf;
#define ORRERY_NOTE_REGISTERS(registers) _setjmp(registers)
#endif

/// Goes on at the place, where `recoverable` returns false.
[[noreturn]] void drop();
/// There: puts back what the frames that are gone would have put back.
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

/// Runs `action`, which calls model code; false if that was dropped, and model_calls says why. The
/// mode is then what it was. What the action throws passes through. Not inlined, since it is
/// returned to from elsewhere.
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
  // A call that the compiler knows nothing of: to it only calls return to the place, so a crash of
  // inlined code would find nothing there.
  detail::ErasedCall call(action);
  asm("" : "+r"(call.function));
  call.function(call.argument);
  return true;
}

/// The same for platform code that changes nothing and may be dropped anywhere, since it looks at
/// what a crash has left.
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

/// As an exception of the model.
[[noreturn]] void throw_crash();

/// Runs `action` on a stack of ours, twice as large as the system's limit says: as much is left for
/// a handler that runs while another is set aside. Within itself it just calls, and where there is
/// no memory for a stack.
template <class Action>
void on_model_stack(Action&& action) {
  detail::call_on_model_stack(detail::ErasedCall(action));
}

/// Who finds room beside a handler that has come to `stack_pointer`.
enum class StackRoom : std::uint8_t { none, for_the_platform, for_a_handler };
StackRoom stack_room(const void* stack_pointer);
/// Leaves the handler that runs where it is: it is not wanted any more.
[[noreturn]] void squash();

/// In the handler of a signal, from its third argument: what it has interrupted.
CodePoint code_point(const void* context);
/// In the handler of a signal: what it tells of the calling thread's model code.
Crash crash_of(int number, const siginfo_t* info);
/// In the handler of a signal: whether the thread goes on, without what has crashed or with the
/// reserve of its stack. If so, the handler must return, and `context` has been changed.
bool survives_crash(int number, const siginfo_t* info, void* context);
/// Whether the model code that runs may be left where it is. For handlers of signals, too.
bool may_drop();
/// In the handler of a signal: the model code that it interrupts has done this.
void note_crash(const Crash& crash, const void* context);
/// Goes on at that place, where model_calls.crash is the reason. Only signals that the caller lets
/// in come there.
[[noreturn]] void drop_to(void** place);
/// Before the process is ended for this: returns unless the model code that did it is dropped.
void drop_or_note(const Crash& crash);

}  // namespace orrery
