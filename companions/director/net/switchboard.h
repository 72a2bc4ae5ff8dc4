// SPDX-License-Identifier: Apache-2.0
//
// The cards of directed machines, joined by a network in virtual time: a thread that reads the frames
// that machines send, stamps each with its sender's clock (machine_clocks.h), lets the network decide
// (network.h), and gives a machine each frame when the machine's own clock reaches its arrival.
//
// The thesis delivers when the *system's* clock reaches the arrival (Yoginath 2014, section 3.2). A
// machine may be ahead of it by a tick, then, and would answer as much too late. A machine's own
// clock is exact as long as the delay of the links is longer than the spread of the clocks: then no
// machine is past an arrival when the frame is sent. How late frames are is measured.
//
// The thread has a real-time priority above all machines, like their helpers. It reads a bounded
// number of frames in each millisecond, so a machine that floods its network waits for its card, and the
// other machines lose at most half a core.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "director/net/machine_clocks.h"
#include "director/net/network.h"
#include "director/spread.h"

namespace orrery::director {

class Switchboard {
 public:
  struct Settings {
    bool is_real_time = true;     ///< the thread has a real-time priority
    std::function<void()> hurry;  ///< asks for a tick now; nullptr: not needed
  };
  struct Counts {
    std::vector<Network::Counts> machines;
    SpreadCounts late;  ///< by how much machines' clocks were past arrivals, in microseconds
    std::uint64_t refused = 0;  ///< frames for machines that did not take them
  };

  /// `cards`: the sockets of each machine, in the order of hosts and their ports.
  Switchboard(Network& network, MachineTimes& times, std::vector<std::vector<int>> cards,
              Settings settings);
  ~Switchboard() { stop(); }
  Switchboard(const Switchboard&) = delete;
  Switchboard& operator=(const Switchboard&) = delete;

  /// Throws away the frames that have come so far, and starts the thread.
  void start();
  /// While it is held, no frame arrives, and the clock of idle machines stands still.
  void hold(bool held) { is_held_ = held; }
  /// Throws what has ended the thread.
  void check() const;
  void stop();
  Counts counts();

 private:
  struct Card {
    lab::NodeId host;
    unsigned port;
    int socket;
    Nanoseconds full_until = 0;  ///< takes nothing before
  };
  void run();
  void become_real_time() const;
  void wait(bool is_held);
  void read_frames();
  bool read_frame(Card& card);
  void deliver();
  bool deliver_next(Card& card);
  void share_counts();
  Nanoseconds next_wake_up();

  Network& network_;
  MachineTimes& times_;
  const Settings settings_;
  std::vector<Card> cards_;
  std::size_t machines_;
  Descriptor ready_cards_;  // epoll
  std::vector<std::byte> buffer_;
  unsigned frames_left_ = 0;  ///< that may be read before refill_at_
  Nanoseconds refill_at_ = 0, shared_at_ = 0;
  Counts own_;  ///< of the thread
  std::mutex sharing_;
  Counts shared_;
  std::exception_ptr failure_;
  std::atomic<bool> stops_{false}, has_failed_{false}, is_held_{false};
  std::thread thread_;
};

}  // namespace orrery::director
