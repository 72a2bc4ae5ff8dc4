// SPDX-License-Identifier: Apache-2.0
//
// A thread of another process, as the system shows it: its consumption, and whether it is runnable.
// clock_gettime reads clocks of threads of the own process only, so this class reads files in
// /proc, which stay open. An open file belongs to the thread, not to its number, so the end of a
// thread is noticed even if another thread has got its number.
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

  /// Processor time; nothing if the thread has ended.
  std::optional<Nanoseconds> consumed() const;
  /// The system's letter: 'R' running or runnable, 'S' sleeping, 'T' stopped, ...; 'X' if the
  /// thread has ended.
  char state() const;

 private:
  Thread() = default;
  ThreadId id_;
  std::string name_;
  Descriptor consumed_, state_;
};

/// The threads of a process now; none if the process does not exist.
std::vector<pid_t> threads_of(pid_t process);
/// The begin of the thread in clock ticks; 0 if the thread does not exist.
std::uint64_t birth_of(pid_t process, pid_t thread);
/// The name of a process or a thread; empty if it does not exist.
std::string name_of(pid_t process, pid_t thread);

}  // namespace orrery::director
