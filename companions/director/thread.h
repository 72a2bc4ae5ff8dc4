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

class Thread {
 public:
  /// Nothing if the thread does not exist (any more).
  static std::optional<Thread> open(pid_t process, pid_t thread);

  const ThreadId& id() const { return id_; }
  const std::string& name() const { return name_; }

  /// Processor time, exact if has_counter(). Nothing if the thread has ended, at the latest at the
  /// eleventh call after that.
  std::optional<Nanoseconds> consumed();
  bool has_counter() const { return static_cast<bool>(counter_); }
  /// The system's error number if there is no counter.
  int counter_error() const { return counter_error_; }
  /// The system's letter: 'R' running or runnable, 'S' sleeping, 'T' stopped, ...; 'X' if the
  /// thread has ended.
  char state() const;

 private:
  Thread() = default;
  std::optional<Nanoseconds> consumed_by_schedstat() const;
  ThreadId id_;
  std::string name_;
  int counter_error_ = 0;
  Nanoseconds before_ = 0;  ///< consumption before the counter
  Nanoseconds last_ = -1;   ///< the last count
  unsigned looks_ = 0;      ///< calls with that count
  Descriptor counter_, schedstat_, state_;
};

/// Opens a counter of the processor time that a thread consumes from now on, in nanoseconds. Without
/// the right to it (CAP_PERFMON, or kernel.perf_event_paranoid of 2 or less), or without the thread,
/// the descriptor is empty, and errno says why.
Descriptor open_task_clock(pid_t thread);
/// The count of such a counter; nothing if it cannot be read.
std::optional<Nanoseconds> read_task_clock(const Descriptor& counter);

/// The threads of a process now; none if the process does not exist.
std::vector<pid_t> threads_of(pid_t process);
/// The begin of the thread in clock ticks; 0 if the thread does not exist.
std::uint64_t birth_of(pid_t process, pid_t thread);
/// The name of a process or a thread; empty if it does not exist.
std::string name_of(pid_t process, pid_t thread);

}  // namespace orrery::director
