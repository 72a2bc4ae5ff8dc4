// SPDX-License-Identifier: Apache-2.0
#include "core/model_stack.h"

#include <cxxabi.h>
#include <pthread.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "core/float_environment.h"
#include "memory/platform_local.h"
#include "orrery/error.h"

#if ORRERY_MODEL_STACKS
#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#endif

namespace orrery {

constinit thread_local ModelCalls model_calls [[gnu::tls_model("local-exec")]];
static const memory::PlatformLocal calls_is_of_the_platform([] { return &model_calls; });

void throw_crash() {
  throw CrashFault(model_calls.crash);
}

namespace {

constexpr std::size_t kReserveBytes = std::size_t{128} << 10;
/// One handler's stack, and as much again for handlers that run while it is suspended.
constexpr std::size_t kHandlers = 2;

/// Called back in model code after platform code has used the reserve.
void leave_reserve();
/// Called after a drop.
void tidy_stack();

bool is_overrun() {
  return memory::attention_asked(memory::kOverrun);
}

void heed(const void* caller) {
  if (is_overrun()) leave_reserve();
  if (model_calls.on_look != nullptr) {
    model_calls.on_look(caller);
  } else {
    // Another thread has asked just after this thread stopped looking. A request that stays would
    // cost a call of this function each time that platform code returns.
    memory::end_attention(memory::kLook);
  }
}

/// Unlocks a stream that the thread was writing to when it was dropped. glibc stores the owner of a
/// stream's lock as pthread_self().
void release(FILE* stream) {
  struct Lock {
    int word, count;
    void* owner;
  };
  auto* const lock = reinterpret_cast<Lock*>(stream->_lock);
  if (lock == nullptr || lock->owner != reinterpret_cast<void*>(pthread_self())) return;
  lock->count = 1;
  funlockfile(stream);
}

/// Marks the stack as the thread's current one.
class OnStack {
 public:
  OnStack(std::byte* begin, std::size_t bytes) {
    model_calls.stack_bytes = bytes;
    model_calls.stack_begin = begin;
  }
  ~OnStack() { model_calls.stack_begin = nullptr; }
  OnStack(const OnStack&) = delete;
  OnStack& operator=(const OnStack&) = delete;
};

}  // namespace

detail::Exceptions detail::exceptions() {
  return *reinterpret_cast<Exceptions*>(abi::__cxa_get_globals());
}

void detail::set_exceptions(const Exceptions& exceptions) {
  *reinterpret_cast<Exceptions*>(abi::__cxa_get_globals()) = exceptions;
}

void detail::clean_up_after_drop(const Exceptions& before) {
  ModelCalls& calls = model_calls;
  calls.harmless = false;
  tidy_stack();
  memory::thread_context.locks = 0;  // abandoned code holds none
  set_exceptions(before);
  for (FILE* stream : {stdin, stdout, stderr}) release(stream);
  ensure_default_floats();
  if (calls.on_drop != nullptr) calls.on_drop();
}

void detail::drop() {
  drop_to(model_calls.place);
}

StackRoom stack_room(const void* stack_pointer) {
  const ModelCalls& calls = model_calls;
  const auto* const at = static_cast<const std::byte*>(stack_pointer);
  if (calls.stack_begin == nullptr || at < calls.stack_begin ||
      at > calls.stack_begin + calls.stack_bytes)
    return StackRoom::none;
  const auto left = static_cast<std::size_t>(at - calls.stack_begin);
  if (left >= calls.stack_bytes / kHandlers) return StackRoom::for_a_handler;
  return left >= 2 * kReserveBytes ? StackRoom::for_the_platform : StackRoom::none;
}

void squash() {
  model_calls.squashed = true;
  detail::drop();
}

#if ORRERY_MODEL_STACKS

// void orrery_switch_stack(void* top, void (*function)(void*), void* argument): calls `function` on
// that stack. The old stack pointer is in rbx, which calls preserve, so the unwind information
// finds the caller's frame through it, and exceptions pass from one stack to the other.
asm(R"(
  .pushsection .text.orrery_switch_stack, "ax", @progbits
  .p2align 4
  .globl orrery_switch_stack
  .hidden orrery_switch_stack
  .type orrery_switch_stack, @function
orrery_switch_stack:
  .cfi_startproc
  pushq %rbx
  .cfi_def_cfa_offset 16
  .cfi_offset %rbx, -16
  movq %rsp, %rbx
  .cfi_def_cfa_register %rbx
  movq %rdi, %rsp
  movq %rdx, %rdi
  callq *%rsi
  movq %rbx, %rsp
  .cfi_def_cfa_register %rsp
  popq %rbx
  .cfi_def_cfa_offset 8
  retq
  .cfi_endproc
  .size orrery_switch_stack, . - orrery_switch_stack
  .popsection
)");
extern "C" void orrery_switch_stack(void* top, void (*function)(void*), void* argument);

bool may_drop() {
  return model_calls.place != nullptr && model_calls.stack_begin != nullptr &&
         (memory::may_be_preempted() || model_calls.harmless);
}

namespace {

// From the lowest address: inaccessible guard pages, for large frames; the reserve; the stack.
constexpr std::size_t kGuardBytes = std::size_t{1} << 20;
constexpr std::size_t kUsualBytes = std::size_t{8} << 20;
constexpr std::size_t kMostBytes = std::size_t{1} << 30;

/// The user's limit for a thread's stack (ulimit -s), within bounds.
std::size_t wanted_stack_bytes() {
  rlimit limit{};
  if (getrlimit(RLIMIT_STACK, &limit) != 0) return kUsualBytes;
  constexpr std::size_t kPageBytes = 4096;
  return std::clamp<std::size_t>(limit.rlim_cur, kReserveBytes, kMostBytes) / kPageBytes *
         kPageBytes;
}

class Stack {
 public:
  Stack() {
    void* const mapping = mmap(nullptr, bytes(), PROT_NONE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (mapping == MAP_FAILED) return;
    mapping_ = static_cast<std::byte*>(mapping);
    if (mprotect(begin(), stack_bytes_, PROT_READ | PROT_WRITE) == 0) return;
    munmap(mapping_, bytes());
    mapping_ = nullptr;
  }
  ~Stack() {
    if (mapping_ != nullptr) munmap(mapping_, bytes());
  }
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;

  bool exists() const { return mapping_ != nullptr; }
  std::byte* begin() const { return mapping_ + kGuardBytes + kReserveBytes; }
  std::size_t stack_bytes() const { return stack_bytes_; }

 private:
  std::size_t bytes() const { return kGuardBytes + kReserveBytes + stack_bytes_; }

  const std::size_t stack_bytes_ = kHandlers * wanted_stack_bytes();
  std::byte* mapping_ = nullptr;
};

void protect_reserve(int protection) {
  mprotect(model_calls.stack_begin - kReserveBytes, kReserveBytes, protection);
}

void close_reserve() {
  protect_reserve(PROT_NONE);
  memory::end_attention(memory::kOverrun);
}

/// Whether the thread's own action raised the signal, rather than another sender.
bool is_its_own(const siginfo_t& info) {
  return info.si_code > 0 || (info.si_code == SI_TKILL && info.si_pid == getpid());
}

/// Called back in model code after platform code has used the reserve: closes the reserve, or drops
/// any handler that has used up half of it, since the other half is for platform code.
void leave_reserve() {
  if (!may_drop()) return;  // try again later
  const auto* const here = static_cast<std::byte*>(__builtin_frame_address(0));
  if (here >= model_calls.stack_begin) return close_reserve();
  if (here < model_calls.stack_begin - kReserveBytes / 2) detail::drop();
}

/// Returns the memory that an endless recursion has touched.
void give_memory_back() {
  constexpr std::size_t kKept = std::size_t{256} << 10;
  auto* const here = static_cast<std::byte*>(__builtin_frame_address(0)) - kKept;
  if (here <= model_calls.stack_begin) return;
  const std::size_t bytes = static_cast<std::size_t>(here - model_calls.stack_begin) / 4096 * 4096;
  madvise(model_calls.stack_begin, bytes, MADV_DONTNEED);
}

void tidy_stack() {
  if (is_overrun()) close_reserve();
  if (!model_calls.squashed && model_calls.crash.kind == Crash::Kind::exhausted_stack)
    give_memory_back();
}

}  // namespace

void let_in_attention_signal() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, kAttentionSignal);
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
}

void drop_to(void** place) {
  asm volatile("cld; fninit" ::: "memory");
  __builtin_longjmp(place, 1);
}

void detail::call_on_model_stack(const ErasedCall& call) {
  ModelCalls& calls = model_calls;
  if (calls.stack_begin != nullptr) return call.function(call.argument);
  memory::thread_context.on_attention = heed;
  const Stack stack;
  if (!stack.exists()) return call.function(call.argument);
  const OnStack on_stack(stack.begin(), stack.stack_bytes());
  orrery_switch_stack(stack.begin() + stack.stack_bytes(), call.function, call.argument);
}

namespace {

void note_exhausted_stack(Crash& crash) {
  crash.kind = Crash::Kind::exhausted_stack;
  crash.stack_bytes = model_calls.stack_bytes / kHandlers;
}

/// Searches the thread's stack of the platform.
Frames find_frames_here(const CodePoint& from) {
  const ModelCalls& calls = model_calls;
  if (calls.stack_begin == nullptr) return {};
  return find_frames(from, calls.stack_begin - kReserveBytes,
                     calls.stack_begin + calls.stack_bytes);
}

}  // namespace

Crash crash_of(int number, const siginfo_t* info) {
  const ModelCalls& calls = model_calls;
  Crash crash{.signal = number};
  if (number == SIGABRT && calls.has_words) return calls.crash;
  if (number != SIGSEGV || info == nullptr || info->si_code <= 0 || calls.stack_begin == nullptr)
    return crash;
  const auto* const at = static_cast<const std::byte*>(info->si_addr);
  const std::byte* const begin = calls.stack_begin;
  if (at < begin - kReserveBytes - kGuardBytes || at >= begin) return crash;
  note_exhausted_stack(crash);
  return crash;
}

namespace {

/// Whether the kernel found no room for the frame of another signal; it then gives no address.
bool is_full_for_signals(int number, const siginfo_t& info, const mcontext_t& registers) {
  constexpr std::size_t kFrameBytes = 16384;  // with the widest registers of current processors
  if (number != SIGSEGV || info.si_code != SI_KERNEL || model_calls.stack_begin == nullptr)
    return false;
  const auto at = static_cast<std::uintptr_t>(registers.gregs[REG_RSP]);
  const auto begin = reinterpret_cast<std::uintptr_t>(model_calls.stack_begin);
  return at - (begin - kReserveBytes) < kReserveBytes + kFrameBytes;
}

}  // namespace

bool survives_crash(int number, const siginfo_t* info, void* context) {
  ModelCalls& calls = model_calls;
  if (info == nullptr || !is_its_own(*info)) return false;
  Crash crash = crash_of(number, info);
  if (is_full_for_signals(number, *info, static_cast<ucontext_t*>(context)->uc_mcontext))
    note_exhausted_stack(crash);
  // The function of a recursion that reaches the end of the stack differs from engine to engine.
  if (crash.kind != Crash::Kind::exhausted_stack)
    crash.frames = find_frames_here(code_point(context));
  if (!may_drop()) {
    const bool in_call = calls.place != nullptr && calls.stack_begin != nullptr;
    if (!in_call || crash.kind != Crash::Kind::exhausted_stack || is_overrun()) return false;
    memory::ask_attention(memory::kOverrun);
    calls.crash = crash;
    protect_reserve(PROT_READ | PROT_WRITE);
    return true;
  }
  calls.crash = crash;
  // Return from the signal as if the crashed code had called drop(), on the abandoned part of the
  // stack. Word 2 of the place is its stack pointer. A function begins after a call has pushed 8
  // bytes.
  constexpr std::uintptr_t kBeneath = 1024;
  const std::uintptr_t stack = (reinterpret_cast<std::uintptr_t>(calls.place[2]) - kBeneath) / 16;
  auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  registers[REG_RIP] = reinterpret_cast<greg_t>(&detail::drop);
  registers[REG_RSP] = static_cast<greg_t>(stack * 16 - 8);
  // The crash may be in the handler of that signal, at the end of the stack.
  sigdelset(&static_cast<ucontext_t*>(context)->uc_sigmask, kAttentionSignal);
  return true;
}

void drop_or_note(const Crash& crash) {
  model_calls.crash = crash;
  model_calls.crash.frames = find_frames_here(
      {.stack_pointer = __builtin_frame_address(0), .frame = __builtin_frame_address(0)});
  if (may_drop()) detail::drop();
  model_calls.has_words = crash.signal == SIGABRT;
}

void note_crash(const Crash& crash, const void* context) {
  model_calls.crash = crash;
  model_calls.crash.frames = find_frames_here(code_point(context));
}

CodePoint code_point(const void* context) {
  const auto& registers = static_cast<const ucontext_t*>(context)->uc_mcontext.gregs;
  return {reinterpret_cast<const void*>(registers[REG_RIP]),
          reinterpret_cast<const void*>(registers[REG_RSP]),
          reinterpret_cast<const void*>(registers[REG_RBP])};
}

#else

namespace {
void leave_reserve() {}
void tidy_stack() {}
}  // namespace

CodePoint code_point(const void*) {
  return {};
}
bool may_drop() {
  return false;
}
void note_crash(const Crash&, const void*) {}
void let_in_attention_signal() {}
void drop_to(void** place) {
  longjmp(*reinterpret_cast<detail::Registers*>(place), 1);
}

void detail::call_on_model_stack(const ErasedCall& call) {
  ModelCalls& calls = model_calls;
  pthread_attr_t attributes;
  void* begin = nullptr;
  if (calls.stack_begin == nullptr && pthread_getattr_np(pthread_self(), &attributes) == 0) {
    pthread_attr_getstack(&attributes, &begin, &calls.stack_bytes);
    pthread_attr_destroy(&attributes);
  }
  if (begin == nullptr) return call.function(call.argument);
  memory::thread_context.on_attention = heed;
  const OnStack on_stack(static_cast<std::byte*>(begin), calls.stack_bytes);
  call.function(call.argument);
}
Crash crash_of(int number, const siginfo_t*) {
  return number == SIGABRT && model_calls.has_words ? model_calls.crash : Crash{.signal = number};
}
bool survives_crash(int, const siginfo_t*, void*) {
  return false;
}
void drop_or_note(const Crash& crash) {
  model_calls.crash = crash;
  model_calls.has_words = crash.signal == SIGABRT;
}

#endif

}  // namespace orrery
