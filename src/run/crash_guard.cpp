// SPDX-License-Identifier: Apache-2.0
#include "run/crash_guard.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>

#include "memory/outside_calls.h"
#include "run/activity.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#include <sanitizer/common_interface_defs.h>
#endif

namespace orrery {
namespace {

constexpr int kExitFault = 3;

struct Signal {
  int number;
  const char* text;
};
constexpr std::array<Signal, 5> kSignals = {{
    {SIGSEGV, "SIGSEGV, access to memory that is not there"},
    {SIGBUS, "SIGBUS, access to memory that cannot be reached"},
    {SIGFPE, "SIGFPE, such as a division by zero"},
    {SIGILL, "SIGILL, an instruction that does not exist"},
    {SIGABRT, "SIGABRT, of abort(), assert, std::terminate or the C library"},
}};

// Of the process, like the handlers of its signals. Written by the thread that makes the first
// guard and takes the last one away; handlers see it because they are installed after it.
int guards = 0;
pid_t guarded_process = 0;
std::array<struct sigaction, kSignals.size()> before;

/// The thread that tells its end, 0: none yet. Relaxed: nothing else is read because of it.
std::atomic<pid_t> telling{0};

/// False if another thread is telling: then wait for the end. A thread that crashes while it tells
/// gets true, and `again`.
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
    const std::size_t room = text_.size() - size_;
    const auto end = fmt::format_to_n(text_.data() + size_, static_cast<std::ptrdiff_t>(room),
                                      format, std::forward<Parts>(parts)...);
    size_ += std::min(room, end.size);
  }
  void add(const ModelCode& code) {
    size_ += describe(code, text_.data() + size_, text_.size() - size_);
  }
  void write() {
    if (::write(STDERR_FILENO, text_.data(), size_) < 0) return;  // there is nobody to tell
  }

 private:
  std::array<char, 1024> text_;
  std::size_t size_ = 0;
};

constexpr const char* kHint =
    "'orrery run --engine checker' says more about mistakes with memory; what this run had "
    "computed "
    "is lost";

const char* text_of(int number) {
  const auto known = std::find_if(kSignals.begin(), kSignals.end(),
                                  [number](const Signal& one) { return one.number == number; });
  return known == kSignals.end() ? "a signal" : known->text;
}

/// Frames are not larger as a rule than the guard's page; some are.
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

void tell_crash(int number, const siginfo_t* info) {
  Sentence sentence;
  const std::optional<ModelCode> code = running_model_code();
  const bool deep = number == SIGSEGV && info != nullptr && is_below_stack(info->si_addr);
  sentence.add("orrery: ");
  if (code) {
    sentence.add("model fault in ");
    sentence.add(*code);
    sentence.add(": ");
  }
  if (deep) {
    sentence.add("the stack of {} KiB is exhausted ({})",
                 (activity.stack_end - activity.stack_begin) / 1024, "a recursion without end?");
  } else {
    sentence.add("a crash ({})", text_of(number));
  }
  if (code) {
    add_speculation(sentence, *code);
    sentence.add("; {}\n", kHint);
  } else {
    sentence.add(
        " outside of the model's handlers, a mistake of orrery's or of a thread that the model has "
        "started; what this run had computed is lost\n");
  }
  sentence.write();
}

/// If it crashed while it told: where, without asking the LP for names.
void on_signal(int number, siginfo_t* info, void*) {
  const int error = errno;
  bool again = false;
  if (getpid() == guarded_process) {
    if (!begin_to_tell(again))
      for (;;) pause();  // the other thread ends the process
    if (!again) {
      if (activity.teller == nullptr || !activity.teller->tell(number)) tell_crash(number, info);
    }
  }
  // As if nobody had looked: back at the instruction that failed, or abort() again.
  for (std::size_t i = 0; i < kSignals.size(); ++i)
    if (kSignals[i].number == number) sigaction(number, &before[i], nullptr);
  if (info == nullptr || info->si_code <= 0) raise(number);
  errno = error;
}

/// In model code that ends the process by a call.
void tell_exit(const char* function) {
  if (guards == 0 || getpid() != guarded_process) return;  // a child that the model has forked
  const std::optional<ModelCode> code = running_model_code();
  bool again = false;
  if (!code || !begin_to_tell(again) || again) return;
  Sentence sentence;
  sentence.add("orrery: model fault in ");
  sentence.add(*code);
  sentence.add(
      ": it called {}; model code must not end the process, context.fail() ends a run with a "
      "reason",
      function);
  add_speculation(sentence, *code);
  sentence.add("; what this run had computed is lost\n");
  sentence.write();
  _exit(kExitFault);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
/// A sanitizer has reported something and ends the process: who was executing?
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

/// What stays for the life of the process.
void watch_exits() {
  std::atexit([] { tell_exit("exit()"); });
  std::at_quick_exit([] { tell_exit("quick_exit()"); });
  memory::before_exit.store(tell_exit, std::memory_order_relaxed);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  __sanitizer_set_death_callback(on_sanitizer_report);
#endif
}

}  // namespace

CrashGuard::CrashGuard() {
  if (guards++ > 0) return;
  guarded_process = getpid();
  [[maybe_unused]] static const bool watched = (watch_exits(), true);
  struct sigaction action {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (std::size_t i = 0; i < kSignals.size(); ++i)
    sigaction(kSignals[i].number, &action, &before[i]);
}

CrashGuard::~CrashGuard() {
  if (--guards > 0) return;
  for (std::size_t i = 0; i < kSignals.size(); ++i)
    sigaction(kSignals[i].number, &before[i], nullptr);
}

}  // namespace orrery
