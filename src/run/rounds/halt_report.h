// SPDX-License-Identifier: Apache-2.0
//
// What workers report in a round (transport/rounds.h) so that all of them come to a cut together:
// the reasons to halt, and counts of messages. A cut is a key K: all events below K are executed,
// none at or above K is, and no message is in transit. Where K lies, and whether workers undo
// events down to K or execute events up to K, is the engine's policy (timewarp/cut.h).
//
// Why no message is in transit when the sums agree. Reports say how many messages their worker has
// put into channels and taken out of them since the engine has the world; a message that waits for
// room in a full ring counts as put in and not as taken out. Let nobody put in a message from some
// moment on that is before the reports of round n; engines say why that holds.
// (1) The reports of round n are made at different moments, but the number of messages put into a
//     channel is the same at all of them.
// (2) From no channel more is taken than was put in, and what a worker has taken only grows. So if
//     the sums over all channels are equal, the two numbers are equal for each channel at the moment
//     when its receiver reports; and from then on, since nothing more is put in. All channels are
//     empty and stay empty.
// The sums do become equal: each turn and each round takes out all that is there.
// tests/explore runs this in all schedules of small cases.
#pragma once

#include <cstdint>

namespace orrery::rounds {

struct HaltReport {
  bool stop = false;                     ///< the run was asked to stop
  bool time_is_over = false;             ///< this engine's time with the world is over
  std::uint64_t sent = 0, received = 0;  ///< messages, since the engine has the world

  void add(const HaltReport& one) {
    stop |= one.stop;
    time_is_over |= one.time_is_over;
    sent += one.sent;
    received += one.received;
  }
  /// Whether no message is in transit. Of the sum of all reports, and only if nobody has sent since
  /// before the first of them was made.
  bool all_received() const { return sent == received; }
};

}  // namespace orrery::rounds
