// SPDX-License-Identifier: Apache-2.0
//
// A small process beside the director. It gives all threads their scheduling back when the director
// ends, also by SIGKILL, or ticks no longer (SIGSTOP, a debugger). It is
// forked before the first thread is changed, in a session of its own, so that the end of the
// director's terminal or process group does not end it. Its priority is above the director's, since
// threads without a director may have all cores. It reads the roll in shared memory, so it needs
// nothing from a dead director. The end of a pipe shows it that the director has ended.
#pragma once

#include <sys/types.h>

#include "director/roll.h"
#include "director/thread.h"

namespace orrery::director {

class Guardian {
 public:
  /// `still_ms`: how long the heartbeat may stay the same, in milliseconds. Throws
  /// std::system_error.
  Guardian(Roll& roll, int still_ms);
  /// Ends the guardian, which first gives back all threads that are left on the roll.
  ~Guardian();
  Guardian(const Guardian&) = delete;
  Guardian& operator=(const Guardian&) = delete;

  bool is_alive();
  pid_t process() const { return process_; }

 private:
  pid_t process_ = -1;
  Descriptor life_;  // the guardian has the other end
};

}  // namespace orrery::director
