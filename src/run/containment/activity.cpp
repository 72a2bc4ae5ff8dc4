// SPDX-License-Identifier: Apache-2.0
#include "run/containment/activity.h"

#include <signal.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "core/duration_text.h"
#include "core/format_into.h"
#include "core/model_stack.h"
#include "memory/platform_local.h"
#include "run/containment/crash_guard.h"
#include "run/containment/model_text.h"
#include "run/containment/preemption.h"

namespace orrery {

constinit thread_local Activity activity [[gnu::tls_model("local-exec")]];
static const memory::PlatformLocal activity_is_of_the_platform([] { return &activity; });

namespace {

constexpr int kPatienceMs = 100;
constexpr std::size_t kSignalStackBytes = 64 * 1024;

}  // namespace

std::size_t describe(const ModelCode& code, char* out, std::size_t bytes) {
  const auto put = [&]<class... Parts>(fmt::format_string<Parts...> format, Parts&&... parts) {
    return format_into(out, bytes, format, std::forward<Parts>(parts)...);
  };
  if (code.call != nullptr) {
    return code.of_lp ? put("LP {}, {}", code.lp, std::string_view(code.call))
                      : put("{}", std::string_view(code.call));
  }
  if (code.event.empty()) return put("LP {}, start of the run", code.lp);
  const Duration since_start = code.cause.time() - Time::zero();
  std::array<char, kDurationTextBytes> time;
  return put("LP {}, event {} at {} (tick {})", code.lp, code.event,
             duration_text(since_start, code.tick_seconds, time), since_start.ticks());
}

std::string describe(const ModelCode& code) {
  std::array<char, 512> text;
  return {text.data(), describe(code, text.data(), text.size())};
}

bool runs_model_code() {
  return (activity.handlers != nullptr && activity.handlers->running()) || activity.call != nullptr;
}

std::optional<ModelCode> running_model_code() {
  const Activity& now = activity;
  ModelCode code;
  code.tick_seconds = now.tick_seconds;
  if (now.handlers != nullptr && now.handlers->running()) {
    code.speculative = now.speculative;
    now.handlers->tell(code);
    return code;
  }
  if (now.call == nullptr) return std::nullopt;
  code.call = now.call;
  code.of_lp = now.of_lp;
  code.lp = now.lp;
  return code;
}

void forget_model_code() {
  Activity& now = activity;
  if (now.handlers != nullptr && now.handlers->running()) {
    now.handlers->forget();
  } else {
    now.call = nullptr;
  }
}

// ---- Requests to threads

void WatchedThreads::ask(ThreadWatch& thread) const {
  thread.asked_.store(round_, std::memory_order_relaxed);
  pthread_kill(thread.thread_, kAttentionSignal);
}

bool WatchedThreads::answers(const ThreadWatch& thread, int& waited_ms) const {
  const auto answered = [&] { return thread.answered_.load(std::memory_order_acquire) == round_; };
  for (; !answered() && waited_ms < kPatienceMs; ++waited_ms) {
    const timespec pause{0, 1'000'000};
    nanosleep(&pause, nullptr);
  }
  return answered();
}

std::vector<WatchedThreads::Sighting> WatchedThreads::look() {
  const std::lock_guard lock(mutex_);
  ++round_;
  for (ThreadWatch* thread : threads_) ask(*thread);
  std::vector<Sighting> seen;
  int waited_ms = 0;
  for (ThreadWatch* thread : threads_)
    if (answers(*thread, waited_ms) && thread->answer_) seen.push_back({thread, *thread->answer_});
  return seen;
}

bool WatchedThreads::end(const ThreadWatch& thread, const EndOfCall& what) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find(threads_.begin(), threads_.end(), &thread);
  if (found == threads_.end()) return false;
  ThreadWatch& asked = **found;
  // Otherwise the thread has not yet answered the earlier request.
  if (asked.answered_.load(std::memory_order_acquire) != round_) return true;
  ++round_;
  asked.end_ = what;
  asked.end_round_ = round_;
  ask(asked);
  int waited_ms = 0;
  return !answers(asked, waited_ms) || asked.ended_;
}

bool ThreadWatch::signal_is_taken() {
  struct sigaction now {};
  sigaction(kAttentionSignal, nullptr, &now);
  if ((now.sa_flags & SA_SIGINFO) != 0) return now.sa_sigaction != on_signal;
  return now.sa_handler != SIG_DFL && now.sa_handler != SIG_IGN;
}

/// Not on the signal stack, because it may call handlers of the model (preemption.h).
void ThreadWatch::on_signal(int, siginfo_t* info, void* context) {
  const int error = errno;
  if (activity.watch != nullptr) activity.watch->answer(context);
  Preemptible::on_signal(context, info->si_code == SI_TIMER);
  errno = error;
}

/// Whether the call is to be dropped; if so, sets `model_calls.crash` to the reason.
bool ThreadWatch::is_to_end(std::uint32_t asked, void** place, bool may_end,
                            const void* context) const {
  if (end_round_ != asked || !answer_ || !(*answer_ == end_.code)) return false;
  if (may_end && text_->contains(code_point(context).instruction)) {
    note_crash(*end_.crash, context);
    return true;
  }
  if (end_.at_last || place == nullptr || model_calls.in_ordinary_memory)
    end_process_for(*end_.crash, context);
  return false;
}

void ThreadWatch::answer(const void* context) {
  const std::uint32_t asked = asked_.load(std::memory_order_relaxed);
  // A late signal must not change an answer.
  if (answered_.load(std::memory_order_relaxed) == asked) return;
  const bool may_end = may_drop() && memory::thread_context.locks == 0;
  void** const place =
      std::exchange(model_calls.place, nullptr);  // a crash here is not the handler's
  answer_ = running_model_code();
  ended_ = is_to_end(asked, place, may_end, context);
  const bool ends = ended_;
  answered_.store(asked, std::memory_order_release);
  if (ends) {
    let_in_attention_signal();
    drop_to(place);
  }
  model_calls.place = place;
}

// ---- A thread's membership

ThreadWatch::ThreadWatch(WatchedThreads& threads, const Model& model)
    : threads_(threads), outer_(activity) {
  activity.tick_seconds = model.tick_seconds();
  if (outer_.watch != nullptr) return;
  signal_stack_.emplace();
  text_ = std::make_unique<ModelText>(model);
  activity.text = text_.get();
  activity.watch = this;
  model_calls.on_drop = forget_model_code;
  struct sigaction action {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_RESTART | SA_SIGINFO;
  sigaction(kAttentionSignal, &action, nullptr);
  const std::lock_guard lock(threads_.mutex_);
  threads_.threads_.push_back(this);
}

ThreadWatch::ThreadWatch(WatchedThreads& threads, const Model& model,
                         const HandlerExecution& handlers, bool speculative)
    : ThreadWatch(threads, model) {
  activity.speculative = speculative;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  activity.handlers = &handlers;
}

ThreadWatch::~ThreadWatch() {
  if (outer_.watch == nullptr) {
    const std::lock_guard lock(threads_.mutex_);
    std::erase(threads_.threads_, this);
  }
  activity.handlers = outer_.handlers;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  activity = outer_;
}

// ---- A thread's stacks

SignalStack::SignalStack() : begin_before_(activity.stack_begin), end_before_(activity.stack_end) {
  take();
  if (activity.stack_begin == nullptr) note_stack();
}

SignalStack::~SignalStack() {
  activity.stack_begin = begin_before_;
  activity.stack_end = end_before_;
  if (memory_ == nullptr) return;
  stack_t none{};
  none.ss_flags = SS_DISABLE;
  sigaltstack(&none, nullptr);
}

/// A sanitizer may have given the thread a signal stack, which it takes back itself.
void SignalStack::take() {
  stack_t before{};
  if (sigaltstack(nullptr, &before) != 0 || (before.ss_flags & SS_DISABLE) == 0) return;
  memory_ = std::make_unique<std::byte[]>(kSignalStackBytes);
  stack_t stack{};
  stack.ss_sp = memory_.get();
  stack.ss_size = kSignalStackBytes;
  if (sigaltstack(&stack, nullptr) != 0) memory_.reset();
}

void SignalStack::note_stack() {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return;
  void* begin = nullptr;
  std::size_t bytes = 0;
  if (pthread_attr_getstack(&attributes, &begin, &bytes) == 0) {
    activity.stack_begin = static_cast<const std::byte*>(begin);
    activity.stack_end = activity.stack_begin + bytes;
  }
  pthread_attr_destroy(&attributes);
}

}  // namespace orrery
