// SPDX-License-Identifier: Apache-2.0
//
// A thread of another process, as the system shows it: its consumption, and whether it is runnable.
// clock_gettime reads clocks of threads of the own process only, so this class has a counter of the
// system's perf events for the consumption (perf_event_open(2), the task clock), and a file in /proc
// for the state. Both stay open. They belong to the thread, not to its number, so the end of a thread
// is noticed even if another thread has got its number.
//
// The counter is exact at any moment, and takes 0.1 us to read if the thread does not run, 5 us if
// the thread runs on another core. /proc/PID/task/TID/schedstat, which needs no right, is up to 4 ms
// late for a running thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "director/policy.h"

namespace orrery::director {

/// A file descriptor that is closed with its owner.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept : number_(other.number_) { other.number_ = -1; }
  Descriptor& operator=(Descriptor&& other) noexcept;
  int number() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }

 private:
  int number_ = -1;
};

struct ThreadId {
  pid_t process = 0, thread = 0;
  std::uint64_t born = 0;  ///< clock ticks; distinguishes threads of one number

  bool operator==(const ThreadId&) const = default;
};

/// The processor time that a thread has consumed, exact at any moment. Copies read one counter.
class TaskClock {
 public:
  TaskClock() = default;
  /// `before`: what the thread has consumed. Without the right to a counter (CAP_PERFMON, or
  /// kernel.perf_event_paranoid of 2 or less), or without the thread, the clock is empty.
  TaskClock(pid_t thread, Nanoseconds before);

  explicit operator bool() const { return file_ != nullptr; }
  /// The system's error number if it is empty.
  int error() const { return error_; }
  /// Nothing if it is empty. Of a thread that has ended, what it had consumed.
  std::optional<Nanoseconds> consumed() const;

 private:
  std::shared_ptr<const Descriptor> file_;
  Nanoseconds before_ = 0;
  int error_ = 0;
};

class Thread {
 public:
  /// Nothing if the thread does not exist (any more).
  static std::optional<Thread> open(pid_t process, pid_t thread);

  const ThreadId& id() const { return id_; }
  const std::string& name() const { return name_; }

  /// Processor time, exact if clock() is not empty. Nothing if the thread has ended, at the latest at
  /// the eleventh call after that.
  std::optional<Nanoseconds> consumed();
  const TaskClock& clock() const { return clock_; }
  /// The system's letter: 'R' running or runnable, 'S' sleeping, 'T' stopped, ...; 'X' if the
  /// thread has ended.
  char state() const;

 private:
  Thread() = default;
  std::optional<Nanoseconds> consumed_by_schedstat() const;
  ThreadId id_;
  std::string name_;
  TaskClock clock_;
  Nanoseconds last_ = -1;  ///< consumed at the last call
  unsigned looks_ = 0;     ///< calls with that consumption
  Descriptor schedstat_, state_;
};

/// The threads of a process now; none if the process does not exist.
std::vector<pid_t> threads_of(pid_t process);
/// The begin of the thread in clock ticks; 0 if the thread does not exist.
std::uint64_t birth_of(pid_t process, pid_t thread);
/// The name of a process or a thread; empty if it does not exist.
std::string name_of(pid_t process, pid_t thread);

}  // namespace orrery::director
