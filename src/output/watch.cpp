// SPDX-License-Identifier: Apache-2.0
#include "output/watch.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <iterator>
#include <new>
#include <string>
#include <system_error>
#include <thread>

#include "output/host.h"

namespace orrery {
namespace {

constexpr int kTerminalPeriodMs = 200, kRefusedWaitMs = 20;
constexpr int kFirstLineMs = 50;  // soon enough to show a short run, late enough to have a rate
constexpr int kLogPeriodMs = 5000;
constexpr int kStuckPeriodMs = 200;           // between checks of threads that should stop
constexpr double kLongSeconds = 1;            // from this time on, progress names a handler
constexpr double kPatienceSeconds = 2;        // wait for a handler after a request to stop
constexpr double kSameHandlerSeconds = 0.05;  // above this, a second signal names the handler

void name_engine(const EnginePeriod& period, ProgressPoint& point) {
  point.engine = find_engine(period.engine).name.c_str();
  point.workers = period.workers;
}

}  // namespace

bool is_ignored(int number) {
  struct sigaction action {};
  return sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

Watch::Watch(RunControl& control, const Settings& settings)
    : control_(control),
      settings_(settings),
      meter_(settings.horizon_seconds),
      handlers_(control.threads) {
  open_descriptors();
  next_sample_ = start_ + sample_period();
  if (settings_.halt_every_seconds > 0) next_halt_ = start_ + halt_period();
  thread_ = std::thread([this] { run(); });
}

Watch::~Watch() {
  stop();
}

void Watch::open_descriptors() {
  sigemptyset(&blocked_);
  for (const int number : {SIGINT, SIGTERM})
    if (!is_ignored(number)) sigaddset(&blocked_, number);
  if (settings_.halts) sigaddset(&blocked_, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &blocked_, &before_);
  signals_ = signalfd(-1, &blocked_, SFD_NONBLOCK | SFD_CLOEXEC);
  ending_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  requests_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (signals_ < 0 || ending_ < 0 || requests_ < 0)
    throw std::system_error(errno, std::generic_category(), "descriptors of who watches the run");
}

void Watch::stop() {
  if (!thread_.joinable()) return;
  const std::uint64_t one = 1;
  if (::write(ending_, &one, sizeof one) < 0) return;
  thread_.join();
  close(signals_);
  close(ending_);
  close(requests_);
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  line_.clear();
}

void Watch::run() {
  const int period_ms = line_.terminal().interactive ? kTerminalPeriodMs : kLogPeriodMs;
  pollfd descriptors[] = {{ending_, POLLIN, 0}, {signals_, POLLIN, 0}, {requests_, POLLIN, 0}};
  const int first_ms = line_.terminal().interactive ? kFirstLineMs : period_ms;
  auto next = Clock::now() + std::chrono::milliseconds(first_ms);
  for (;;) {
    // If poll fails (the limit of descriptors was lowered meanwhile), all descriptors are read
    // instead: a read of an empty descriptor does no harm.
    if (poll(descriptors, std::size(descriptors), wait_ms(next)) < 0 && errno != EINTR) {
      std::this_thread::sleep_for(std::chrono::milliseconds(kRefusedWaitMs));
      for (pollfd& one : descriptors) one.revents = POLLIN;
    }
    std::uint64_t count = 0;
    if (descriptors[0].revents != 0 && ::read(ending_, &count, sizeof count) == sizeof count)
      return;
    const bool show_now = Clock::now() >= next && settings_.show_progress;
    if (Clock::now() >= next) next = Clock::now() + std::chrono::milliseconds(period_ms);
    try {
      if (descriptors[1].revents != 0) on_signal();
      if (descriptors[2].revents != 0) on_request();
      if (signal() != 0) end_if_stuck();
      ask_for_halts();
      if (show_now) show();
    } catch (const std::bad_alloc&) {
      // A run that is short of memory may go on or end; a missing progress line must not decide
      // that.
    }
    keep_sample();
  }
}

Watch::Clock::duration Watch::halt_period() const {
  return std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(settings_.halt_every_seconds));
}

/// Skips a sample if there is no memory for it.
void Watch::keep_sample() {
  if (Clock::now() < next_sample_) return;
  next_sample_ = Clock::now() + sample_period();
  try {
    const ProgressPoint now = look();
    const std::lock_guard lock(log_mutex_);
    log_.add(now);
  } catch (const std::bad_alloc&) {
    // As in run().
  }
}

Watch::Clock::duration Watch::sample_period() const {
  return std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(log_.interval()));
}

ProgressPoint Watch::look() const {
  ProgressPoint point;
  point.wall_seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  point.simulated_seconds =
      static_cast<double>(control_.gvt_ticks.load(std::memory_order_relaxed)) *
      settings_.tick_seconds;
  point.committed = control_.committed.load(std::memory_order_relaxed);
  point.executed = control_.executed.load(std::memory_order_relaxed);
  point.memory_bytes = resident_bytes();
  point.engine = control_.engine.load(std::memory_order_relaxed);
  point.workers = control_.workers.load(std::memory_order_relaxed);
  return point;
}

std::vector<ProgressPoint> Watch::so_far() const {
  std::vector<ProgressPoint> points;
  {
    const std::lock_guard lock(log_mutex_);
    points.assign(log_.points().begin(), log_.points().end());
  }
  points.push_back(look());
  return points;
}

/// For a resumed run the number of events executed before the resume is unknown. It is computed
/// here as if nothing had been rolled back before the resume.
std::vector<ProgressPoint> Watch::progress(const RunResult& result) const {
  const auto seconds = [this](Time time) {
    return static_cast<double>(time.ticks()) * settings_.tick_seconds;
  };
  ProgressPoint end = look();
  end.simulated_seconds = seconds(result.reached);
  end.committed = result.committed;
  end.executed = result.executed;
  ProgressPoint begin;
  begin.memory_bytes = memory_before_;
  if (!result.periods.empty()) {
    name_engine(result.periods.front(), begin);
    name_engine(result.periods.back(), end);
  }
  begin.simulated_seconds = seconds(result.begun);
  begin.committed = result.committed_before;
  const std::uint64_t since = result.committed - std::min(result.committed, begin.committed);
  begin.executed = result.executed - std::min(result.executed, since);
  if (begin.committed == 0) begin.executed = 0;
  return log_.between(begin, end);
}

/// Requests halts by the wall clock.
void Watch::ask_for_halts() {
  const auto now = Clock::now();
  if (now < next_halt_) return;
  next_halt_ =
      control_.clock_halts.next_look(now, control_.committed.load(std::memory_order_relaxed));
  if (next_halt_ > now) return;
  next_halt_ = now + halt_period();
  control_.clock_halts.forbid();
  control_.request_halt(control_.keep_at_halt);
}

int Watch::wait_ms(Clock::time_point next) const {
  next = std::min({next, next_halt_, next_sample_});
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now()).count();
  const auto most = signal() != 0 ? kStuckPeriodMs : kLogPeriodMs;
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, most));
}

void Watch::on_signal() {
  signalfd_siginfo info{};
  if (::read(signals_, &info, sizeof info) != sizeof info) return;
  const int number = static_cast<int>(info.ssi_signo);
  if (number == SIGUSR1) {
    control_.request_halt(control_.keep_at_halt);
    return;
  }
  if (signal() != 0) {  // the second one: the user does not want to wait
    const auto handler = handlers_.look();
    if (handler && handler->seconds > kSameHandlerSeconds) end_stuck(*handler);
    std::signal(number, SIG_DFL);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
    raise(number);
  }
  ask_to_stop(number);
}

void Watch::request_stop() {
  const std::uint64_t one = 1;
  if (::write(requests_, &one, sizeof one) < 0) return;  // the counter is full of requests
}

void Watch::on_request() {
  std::uint64_t count = 0;
  if (::read(requests_, &count, sizeof count) != sizeof count || signal() != 0) return;
  ask_to_stop(SIGINT);
}

void Watch::ask_to_stop(int number) {
  signal_.store(number, std::memory_order_relaxed);
  if (settings_.halts) {
    control_.request_halt(control_.stop_at_halt);
  } else {
    control_.stop_requested.store(true, std::memory_order_relaxed);
  }
  signalled_ = Clock::now();
  handlers_.forget();
  handlers_.look();
  line_.leave("stopping at the next commit point; once more ends at once");
}

/// After a request to stop, ends the process if a handler does not return.
void Watch::end_if_stuck() {
  const auto handler = handlers_.look();
  if (handler && handler->seconds >= kPatienceSeconds) end_stuck(*handler);
}

void Watch::end_stuck(const LongHandler& handler) {
  line_.clear();
  const char* guess = handler.code.speculative
                          ? " (perhaps because of a guess that Time Warp would have undone: "
                            "'--engine sequential' sees no guesses)"
                          : "";
  write_stderr(
      "orrery: " + describe(handler.code) + ": it does not return" + guess +
      ", so the run cannot stop in order; it is ended, and what it had computed is lost\n");
  constexpr int kExitSignal = 128;
  _exit(kExitSignal + signal());
}

void Watch::show() {
  const ProgressPoint now = look();
  ProgressSample sample{now.wall_seconds, now.simulated_seconds, now.committed, now.executed,
                        now.memory_bytes};
  if (now.engine != nullptr)
    sample.engine = now.engine + (now.workers > 1 ? " x" + std::to_string(now.workers) : "");
  meter_.add(sample);
  const bool stands_still =
      sample.committed == last_.committed && sample.executed == last_.executed;
  last_ = sample;
  std::string line = meter_.line(line_.terminal());
  if (stands_still) {
    const auto handler = handlers_.look();
    if (handler && handler->seconds >= kLongSeconds)
      line = meter_.line_about(describe(handler->code), handler->seconds, line_.terminal());
  } else {
    handlers_.forget();
  }
  line_.show(line);
}

}  // namespace orrery
