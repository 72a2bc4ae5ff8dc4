// SPDX-License-Identifier: Apache-2.0
#include "observe/watch.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "observe/host.h"

namespace orrery {
namespace {

constexpr int kTerminalPeriodMs = 200;
constexpr int kFirstLineMs = 50;  // soon enough to show a short run, late enough to have a rate
constexpr int kLogPeriodMs = 5000;

void write_stderr(const std::string& text) {
  // Nobody can be told if standard error is gone.
  if (::write(STDERR_FILENO, text.data(), text.size()) < 0) return;
}

/// A process started with a signal ignored (a background job of a script) shall keep ignoring it.
bool is_ignored(int number) {
  struct sigaction action {};
  return sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

Watch::Watch(RunControl& control, const Settings& settings)
    : control_(control),
      settings_(settings),
      terminal_(Terminal::of(STDERR_FILENO)),
      meter_(settings.horizon_seconds) {
  open_descriptors();
  thread_ = std::thread([this] { run(); });
}

Watch::~Watch() {
  stop();
}

void Watch::open_descriptors() {
  sigemptyset(&blocked_);
  for (const int number : {SIGINT, SIGTERM})
    if (!is_ignored(number)) sigaddset(&blocked_, number);
  pthread_sigmask(SIG_BLOCK, &blocked_, &before_);
  signals_ = signalfd(-1, &blocked_, SFD_NONBLOCK | SFD_CLOEXEC);
  ending_ = eventfd(0, EFD_CLOEXEC);
}

void Watch::stop() {
  if (!thread_.joinable()) return;
  const std::uint64_t one = 1;
  if (::write(ending_, &one, sizeof one) < 0) return;
  thread_.join();
  close(signals_);
  close(ending_);
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  if (shown_width_ > 0) rewrite("");
}

void Watch::run() {
  const int period_ms = terminal_.interactive ? kTerminalPeriodMs : kLogPeriodMs;
  pollfd descriptors[] = {{ending_, POLLIN, 0}, {signals_, POLLIN, 0}};
  const int first_ms = terminal_.interactive ? kFirstLineMs : period_ms;
  auto next = Clock::now() + std::chrono::milliseconds(first_ms);
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now()).count();
    poll(descriptors, 2, left > 0 ? static_cast<int>(left) : 0);
    if (descriptors[0].revents != 0) return;
    if (descriptors[1].revents != 0) on_signal();
    if (Clock::now() < next) continue;
    if (settings_.show_progress) show();
    next = Clock::now() + std::chrono::milliseconds(period_ms);
  }
}

void Watch::on_signal() {
  signalfd_siginfo info{};
  if (::read(signals_, &info, sizeof info) != sizeof info) return;
  const int number = static_cast<int>(info.ssi_signo);
  if (signal() != 0) {  // the second one: the user does not want to wait
    std::signal(number, SIG_DFL);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
    raise(number);
  }
  signal_.store(number, std::memory_order_relaxed);
  control_.stop_requested.store(true, std::memory_order_relaxed);
  const std::string line = "stopping at the next commit point; once more ends at once";
  if (terminal_.interactive) {
    shown_width_ += 2;  // the terminal has echoed ^C
    rewrite(line);
    write_stderr("\n");
    shown_width_ = 0;
  } else {
    write_stderr("orrery: " + line + "\n");
  }
}

void Watch::show() {
  ProgressSample sample;
  sample.wall_seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  sample.simulated_seconds =
      static_cast<double>(control_.gvt_ticks.load(std::memory_order_relaxed)) *
      settings_.tick_seconds;
  sample.committed = control_.committed.load(std::memory_order_relaxed);
  sample.executed = control_.executed.load(std::memory_order_relaxed);
  sample.memory_bytes = resident_bytes();
  meter_.add(sample);
  const std::string line = meter_.line(terminal_);
  if (terminal_.interactive)
    rewrite(line);
  else
    write_stderr("orrery: " + line + "\n");
}

/// Puts a line in the place of the last one. Spaces cover what was longer: no escape code is
/// needed.
void Watch::rewrite(const std::string& line) {
  const std::size_t width = display_width(line);
  const std::string cover(shown_width_ > width ? shown_width_ - width : 0, ' ');
  write_stderr("\r" + line + cover + (line.empty() ? "\r" : ""));
  shown_width_ = width;
}

}  // namespace orrery
