// SPDX-License-Identifier: Apache-2.0
//
// A thread of another process, as the system shows it: what it has consumed and whether it could
// run. The clocks of threads (clock_gettime) are for threads of one's own process only, so these
// are files in /proc, which are kept open: they belong to the thread, not to its number, so a
// thread that ended is noticed even if its number has been given to another.
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
  std::uint64_t born = 0;  ///< in the system's clock ticks: tells threads of one number apart

  bool operator==(const ThreadId&) const = default;
};

class Thread {
 public:
  /// Nothing if there is no such thread (any more).
  static std::optional<Thread> open(pid_t process, pid_t thread);

  const ThreadId& id() const { return id_; }
  const std::string& name() const { return name_; }

  /// Nothing if the thread has ended.
  std::optional<Nanoseconds> consumed() const;
  /// The system's letter: 'R' runs or could, 'S' sleeps, 'T' is stopped, ...; 'X' if it has ended.
  char state() const;

 private:
  Thread() = default;
  ThreadId id_;
  std::string name_;
  Descriptor consumed_, state_;
};

/// Those of a process, at this moment; none if there is no such process.
std::vector<pid_t> threads_of(pid_t process);
/// When the thread was born; 0 if there is none.
std::uint64_t birth_of(pid_t process, pid_t thread);
/// The name of a process or a thread; empty if there is none.
std::string name_of(pid_t process, pid_t thread);

}  // namespace orrery::director
