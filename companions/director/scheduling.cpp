// SPDX-License-Identifier: Apache-2.0
#include "director/scheduling.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace orrery::director {
namespace {

/// The argument of sched_setattr(2); only later versions of the C library declare it.
struct Attributes {
  std::uint32_t size = sizeof(Attributes);
  std::uint32_t policy = 0;
  std::uint64_t flags = 0;
  std::int32_t nice = 0;
  std::uint32_t priority = 0;
  std::uint64_t runtime = 0, deadline = 0, period = 0;
};

constexpr std::uint32_t kDeadline = 6;       // SCHED_DEADLINE
constexpr std::uint64_t kResetOnFork = 0x1;  // SCHED_FLAG_RESET_ON_FORK
constexpr std::int32_t kLastNice = 19;
constexpr std::uint64_t kUsefulFlags = 0x7;  // and those of SCHED_DEADLINE; not utilisation clamps

/// Ordinary threads have a slice as their runtime, their own or the system's; the kernel does not
/// say which. A thread with the same slice as this process is assumed to have the system's.
std::uint64_t usual_slice() {
  static const std::uint64_t slice = [] {
    Attributes mine;
    if (syscall(SYS_sched_getattr, 0, &mine, sizeof mine, 0) != 0) return std::uint64_t{0};
    return mine.policy == SCHED_OTHER ? mine.runtime : 0;
  }();
  return slice;
}

}  // namespace

bool Scheduling::is_real_time() const {
  return policy == SCHED_FIFO || policy == SCHED_RR || policy == kDeadline;
}

/// kResetOnFork: children of a real-time thread must not be real-time threads, since the director
/// would not know them.
Scheduling scheduling_of(Level level) {
  const auto fifo = [](std::uint32_t priority) {
    return Scheduling{.policy = SCHED_FIFO, .flags = kResetOnFork, .priority = priority};
  };
  switch (level) {
    case Level::own:
      break;
    case Level::waiting:
      return {.policy = SCHED_IDLE, .flags = kResetOnFork};
    case Level::ordinary:
      return {.policy = SCHED_BATCH, .flags = kResetOnFork, .nice = kLastNice};
    case Level::standby:
      return fifo(5);
    case Level::running:
      return fifo(10);
    case Level::helper:
      return fifo(20);
    case Level::director:
      return fifo(40);
    case Level::guardian:
      return fifo(42);
  }
  return {};
}

/// Children of a directed thread inherit its class and its nice value, but not the flag; children
/// of a real-time thread inherit nothing.
bool is_directed(const Scheduling& scheduling) {
  if (scheduling.policy == SCHED_IDLE) return true;
  return scheduling.policy == SCHED_BATCH && scheduling.nice == kLastNice;
}

int read_scheduling(pid_t thread, Scheduling& scheduling) {
  const std::uint64_t usual = usual_slice();
  Attributes got;
  if (syscall(SYS_sched_getattr, thread, &got, sizeof got, 0) != 0) return errno;
  const bool is_deadline = got.policy == kDeadline;
  scheduling = {.policy = got.policy,
                .flags = got.flags & kUsefulFlags,
                .nice = got.nice,
                .priority = got.priority,
                .runtime = !is_deadline && got.runtime == usual ? 0 : got.runtime,
                .deadline = is_deadline ? got.deadline : 0,
                .period = is_deadline ? got.period : 0};
  return 0;
}

int set_scheduling(pid_t thread, const Scheduling& scheduling) {
  Attributes wanted;
  wanted.policy = scheduling.policy;
  wanted.flags = scheduling.flags;
  wanted.nice = scheduling.nice;
  wanted.priority = scheduling.priority;
  wanted.runtime = scheduling.runtime;
  wanted.deadline = scheduling.deadline;
  wanted.period = scheduling.period;
  return syscall(SYS_sched_setattr, thread, &wanted, 0) == 0 ? 0 : errno;
}

}  // namespace orrery::director
