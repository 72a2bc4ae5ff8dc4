// SPDX-License-Identifier: Apache-2.0
//
// A small process beside the director that gives all threads their scheduling back when the
// director ends in whatever way, SIGKILL included, or stands still (SIGSTOP, a debugger). It is
// forked before the first thread is changed, in a session of its own, so that what ends the
// director's terminal or process group does not end it; above the director in priority, since
// threads that nobody directs may have all cores; and it reads the roll in shared memory, so it
// needs nothing from a director that is gone. The end of a pipe tells it that it is.
#pragma once

#include <sys/types.h>

#include "director/roll.h"
#include "director/thread.h"

namespace orrery::director {

class Guardian {
 public:
  /// `still_ms`: for how long the heartbeat may stand still. Throws std::system_error.
  Guardian(Roll& roll, int still_ms);
  /// The guardian gives back what is left on the roll, and ends.
  ~Guardian();
  Guardian(const Guardian&) = delete;
  Guardian& operator=(const Guardian&) = delete;

  bool is_alive();
  pid_t process() const { return process_; }

 private:
  pid_t process_ = -1;
  Descriptor life_;  // of which the guardian has the other end
};

}  // namespace orrery::director
