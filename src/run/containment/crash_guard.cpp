// SPDX-License-Identifier: Apache-2.0
#include "run/containment/crash_guard.h"

#include <dlfcn.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string_view>

#include "core/crash.h"
#include "core/format_into.h"
#include "core/model_stack.h"
#include "memory/application_mode.h"
#include "memory/outside_calls.h"
#include "run/containment/activity.h"
#include "run/containment/model_text.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#include <sanitizer/common_interface_defs.h>
#endif

namespace orrery {
namespace {

constexpr int kExitFault = 3;

// State of the process, like its signal handlers. Written by the thread that makes the first guard
// and destroys the last one; handlers see it because they are installed afterwards.
int guards = 0;
pid_t guarded_process = 0;
std::array<struct sigaction, NSIG> before;  ///< by signal; of the crashes' signals only

std::terminate_handler terminate_before = nullptr;

/// The thread that is reporting its crash, 0: none yet. Relaxed: no other data depends on it.
std::atomic<pid_t> telling{0};

/// Returns false if another thread is reporting: then wait for the end. For a thread that crashes
/// while it reports, returns true and sets `again`.
bool begin_to_tell(bool& again) {
  pid_t none = 0;
  const pid_t self = gettid();
  again = false;
  if (telling.compare_exchange_strong(none, self, std::memory_order_relaxed)) return true;
  again = none == self;
  return again;
}

class Sentence {
 public:
  template <class... Parts>
  void add(fmt::format_string<Parts...> format, Parts&&... parts) {
    size_ += format_into(text_.data() + size_, text_.size() - size_, format,
                         std::forward<Parts>(parts)...);
  }
  void add(const ModelCode& code) {
    size_ += describe(code, text_.data() + size_, text_.size() - size_);
  }
  void add(const Crash& crash) {
    size_ += describe(crash, text_.data() + size_, text_.size() - size_);
  }
  void write() {
    if (::write(STDERR_FILENO, text_.data(), size_) < 0) return;  // nobody reads it
  }

 private:
  std::array<char, 1024> text_;
  std::size_t size_ = 0;
};

constexpr std::size_t kMostFrames = 6;
/// When the model's destructor runs, the results are already written.
const char* loss_by(const ModelCode& code) {
  // Compared as texts: each unit may have a literal of its own.
  const bool is_over = code.call != nullptr && code.call == std::string_view(kModelDestructor);
  return is_over ? "" : "; what this run had computed is lost";
}

/// Most stack frames are smaller than the guard page, but some are not.
bool is_below_stack(const void* address) {
  constexpr std::ptrdiff_t kAround = 256 * 1024;
  if (activity.stack_begin == nullptr) return false;
  const auto* at = static_cast<const std::byte*>(address);
  return at >= activity.stack_begin - kAround && at < activity.stack_begin + kAround;
}

void add_speculation(Sentence& sentence, const ModelCode& code) {
  if (code.speculative) {
    sentence.add(
        "; the LP's state may have been a guess that Time Warp would have undone: '--engine "
        "sequential' sees no guesses");
  }
}

Crash crash_of_thread(int number, const siginfo_t* info) {
  Crash crash = crash_of(number, info);
  if (crash.kind == Crash::Kind::signal && number == SIGSEGV && info != nullptr &&
      is_below_stack(info->si_addr)) {
    crash.kind = Crash::Kind::exhausted_stack;
    crash.stack_bytes = static_cast<std::size_t>(activity.stack_end - activity.stack_begin);
  }
  return crash;
}

Frames frames_of_thread(const void* context) {
  const CodePoint from = code_point(context);
  const auto* const at = static_cast<const std::byte*>(from.stack_pointer);
  const std::byte* const ours = model_calls.stack_begin;
  if (ours != nullptr && at >= ours && at < ours + model_calls.stack_bytes)
    return find_frames(from, ours, ours + model_calls.stack_bytes);
  return find_frames(from, activity.stack_begin, activity.stack_end);
}

/// The module of an address; nullptr if in none.
const void* module_of(const void* address, const char*& path) {
  Dl_info info{};
  if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) return nullptr;
  path = info.dli_fname;
  return info.dli_fbase;
}

/// Prints "  in model.so+0x1234", for addr2line, since names would need memory. Begins at the first
/// frame of the model's module, which may have called a C or C++ library.
void tell_frames(const Frames& frames) {
  const char* path = nullptr;
  const void* const platform = module_of(reinterpret_cast<const void*>(&module_of), path);
  const void* const c = module_of(reinterpret_cast<const void*>(&dladdr), path);
  const void* const cpp = module_of(reinterpret_cast<const void*>(&std::get_terminate), path);
  const void* models = nullptr;
  std::size_t lines = 0;
  for (std::size_t i = 0; i < frames.count && lines < kMostFrames; ++i) {
    const void* const module = module_of(frames.at[i], path);
    if (models == nullptr && (module == platform || module == c || module == cpp)) continue;
    if (module == nullptr || (models != nullptr && module != models)) return;
    models = module;
    Sentence line;
    line.add(
        "  {} {}+{:#x}\n", lines++ == 0 ? "in" : "called by", path,
        reinterpret_cast<std::uintptr_t>(frames.at[i]) - reinterpret_cast<std::uintptr_t>(module));
    line.write();
  }
}

void tell_crash(int number, const siginfo_t* info, const void* context) {
  Sentence sentence;
  const std::optional<ModelCode> code = running_model_code();
  const Crash crash = crash_of_thread(number, info);
  sentence.add("orrery: ");
  if (code) {
    sentence.add("model fault in ");
    sentence.add(*code);
    sentence.add(": ");
  }
  sentence.add(crash);
  if (code) {
    add_speculation(sentence, *code);
    sentence.add("{}{}\n", hint_for(crash), loss_by(*code));
  } else {
    sentence.add(
        " outside of the model's handlers, a mistake of orrery's or of a thread that the model has "
        "started{}\n",
        loss_by({}));
  }
  sentence.write();
  if (!code || crash.kind == Crash::Kind::exhausted_stack) return;
  tell_frames(crash.frames.count > 0 ? crash.frames : frames_of_thread(context));
}

/// In ordinary memory the mode does not tell model code from platform code: platform code that the
/// model has called is dropped with it, except within a HeapScope.
bool is_models_in_ordinary_memory() {
  return model_calls.in_ordinary_memory && !memory::thread_context.in_heap && runs_model_code();
}

/// In ordinary memory only crashes in the model's text are dropped: a library may hold a lock,
/// above all malloc.
bool goes_on_without(int number, const siginfo_t* info, void* context) {
  const bool is_harmless = is_models_in_ordinary_memory() && activity.text != nullptr &&
                           activity.text->contains(code_point(context).instruction);
  if (is_harmless) model_calls.harmless = true;
  if (survives_crash(number, info, context)) return true;
  if (is_harmless) model_calls.harmless = false;
  return false;
}

/// Handler of the crash signals. After a crash in the report itself, it reports nothing more.
void on_signal(int number, siginfo_t* info, void* context) {
  const int error = errno;
  // Does not apply to a child that the model has forked, which must not continue as a second
  // simulator.
  if (getpid() == guarded_process && goes_on_without(number, info, context)) {
    errno = error;
    return;
  }
  bool again = false;
  if (getpid() == guarded_process) {
    if (!begin_to_tell(again))
      for (;;) pause();  // the other thread ends the process
    if (!again) {
      if (activity.teller == nullptr || !activity.teller->tell(number))
        tell_crash(number, info, context);
    }
  }
  // Restores the earlier handler; then the instruction fails again, or the signal is sent again.
  sigaction(number, &before[static_cast<std::size_t>(number)], nullptr);
  if (info == nullptr || info->si_code <= 0) raise(number);
  errno = error;
}

bool is_guarded() {
  return guards > 0 && getpid() == guarded_process;  // not a child that the model has forked
}

/// Reports and ends the process. Returns if no model code runs, or another thread ends the process.
void end_for(const Crash& crash, const Frames& frames) {
  const std::optional<ModelCode> code = running_model_code();
  bool again = false;
  if (!code || !begin_to_tell(again) || again) return;
  Sentence sentence;
  sentence.add("orrery: model fault in ");
  sentence.add(*code);
  sentence.add(": ");
  sentence.add(crash);
  add_speculation(sentence, *code);
  sentence.add("{}\n", loss_by(*code));
  sentence.write();
  tell_frames(frames);
  _exit(kExitFault);
}

/// In model code that ends the process by a call.
void tell_exit(const char* function) {
  if (is_guarded()) end_for(exit_by(function), {});
}

/// For model code that ends the process by a call: returns unless it is dropped.
void leave_by(const Crash& crash) {
  if (!is_guarded()) return;
  const bool is_harmless = is_models_in_ordinary_memory();
  if (is_harmless) model_calls.harmless = true;
  drop_or_note(crash);
  if (is_harmless) model_calls.harmless = false;
}

void drop_or_tell_exit(const char* function) {
  leave_by(exit_by(function));
  tell_exit(function);
}

bool is_crash_signal(int number) {
  const auto signals = crash_signals();
  return std::find(signals.begin(), signals.end(), number) != signals.end();
}

/// Whether the signal has its default effect, which ends the process. Crash signals have a handler.
bool would_end_process(int number) {
  constexpr std::array kHarmless = {SIGCHLD, SIGCONT, SIGURG,  SIGWINCH,
                                    SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU};
  if (number <= 0 || is_crash_signal(number)) return false;
  if (std::find(kHarmless.begin(), kHarmless.end(), number) != kHarmless.end()) return false;
  struct sigaction now {};
  return sigaction(number, nullptr, &now) == 0 && now.sa_handler == SIG_DFL;
}

/// The text of a call with a signal's number, as in "raise(SIGTERM)".
class CallText {
 public:
  CallText(const char* function, int number) {
    const char* const name = sigabbrev_np(number);
    const std::size_t size = name == nullptr
                                 ? format_into(text_.data(), text_.size() - 1, "{}({})",
                                               std::string_view(function), number)
                                 : format_into(text_.data(), text_.size() - 1, "{}(SIG{})",
                                               std::string_view(function), std::string_view(name));
    text_[size] = '\0';
  }
  const char* get() const { return text_.data(); }

 private:
  std::array<char, 64> text_;
};

/// In model code. Returns in a child that it has forked, and if another thread ends this process.
void drop_or_end(const Crash& crash) {
  leave_by(crash);
  if (is_guarded()) end_for(crash, {});
}

bool is_blocked(int number) {
  sigset_t blocked;
  return pthread_sigmask(SIG_BLOCK, nullptr, &blocked) == 0 && sigismember(&blocked, number) == 1;
}

/// All threads block the signals that stop a run: if such a signal is sent to the process, the
/// thread that waits for it takes it. Sent to a thread, it would come late or never.
void on_own_signal(const char* function, int number, bool to_process) {
  if (!runs_model_code() || (to_process && is_blocked(number))) return;
  if (would_end_process(number)) drop_or_end(exit_by(CallText(function, number).get()));
}

/// A child process would be another simulator without end, and no rollback undoes the fork.
void on_fork(const char* function) {
  const std::optional<ModelCode> code = running_model_code();
  if (!code || (code->call != nullptr && !code->of_lp)) return;
  drop_or_end(forbidden_call(function,
                             "a rollback could not undo it, and the process that it makes would be "
                             "a second simulator; fork in prepare(), or start programs with "
                             "posix_spawn()"));
}

void on_unhandled(const char* function, int number) {
  // Not for the crash report itself, which then lets the signal end the process.
  if (!runs_model_code() || !is_crash_signal(number) ||
      telling.load(std::memory_order_relaxed) == gettid())
    return;
  drop_or_end(forbidden_call(CallText(function, number).get(),
                             "Orrery handles this signal, to say which LP has crashed; leave it, "
                             "or install a handler in prepare()"));
}

void on_assertion(const char* expression, const char* file, unsigned line, const char* function) {
  leave_by(failed_assertion(expression, file, line, function));
}

/// An abort after a failed assertion or std::terminate already has its text.
void on_abort() {
  if (!model_calls.has_words) leave_by({.signal = SIGABRT});
}

/// If the call is dropped, nothing is printed, not even to standard error.
[[noreturn]] void on_terminate() {
  leave_by(termination());
  terminate_before();
  std::abort();
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
/// A sanitizer has reported an error and ends the process: adds what model code was running.
void on_sanitizer_report() {
  const std::optional<ModelCode> code = running_model_code();
  bool again = false;
  if (!code || !begin_to_tell(again) || again) return;
  Sentence sentence;
  sentence.add("orrery: the report above is about ");
  sentence.add(*code);
  sentence.add("\n");
  sentence.write();
}
#endif

/// Installs the hooks that stay for the life of the process.
void watch_exits() {
  // For exits by the C library itself, as in error(): thread-local data no longer exists then, so
  // the thread cannot continue.
  std::atexit([] { tell_exit("exit()"); });
  memory::before_exit.store(drop_or_tell_exit, std::memory_order_relaxed);
  memory::before_own_signal.store(on_own_signal, std::memory_order_relaxed);
  memory::before_fork.store(on_fork, std::memory_order_relaxed);
  memory::before_unhandled.store(on_unhandled, std::memory_order_relaxed);
  memory::before_assertion.store(on_assertion, std::memory_order_relaxed);
  memory::before_abort.store(on_abort, std::memory_order_relaxed);
  terminate_before = std::set_terminate(on_terminate);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  __sanitizer_set_death_callback(on_sanitizer_report);
#endif
}

}  // namespace

void end_process_for(const Crash& crash, const void* context) {
  end_for(crash, frames_of_thread(context));
}

CrashGuard::CrashGuard() {
  if (guards++ > 0) return;
  stack_.emplace();
  guarded_process = getpid();
  [[maybe_unused]] static const bool watched = (watch_exits(), true);
  struct sigaction action {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaddset(&action.sa_mask, kAttentionSignal);
  for (const int number : crash_signals())
    sigaction(number, &action, &before[static_cast<std::size_t>(number)]);
}

CrashGuard::~CrashGuard() {
  if (--guards > 0) return;
  for (const int number : crash_signals())
    sigaction(number, &before[static_cast<std::size_t>(number)], nullptr);
}

}  // namespace orrery
