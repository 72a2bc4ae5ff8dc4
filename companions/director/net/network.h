// SPDX-License-Identifier: Apache-2.0
//
// The network between directed machines, in virtual time, after NetWarp (Yoginath 2014, section 3.2):
// a frame has the time of its sender's clock when it is sent, leaves over links with delays, rates and
// losses, passes switches in the order of time, and waits here until its receiver may have it. This
// class only computes; machine_clocks.h has the clocks, and switchboard.h the sockets.
//
// The links and switches are those of the laboratory (models/lab), and so is their description.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <queue>
#include <span>
#include <string>
#include <vector>

#include "director/policy.h"
#include "lab/capture.h"
#include "lab/outgoing.h"
#include "lab/switch_table.h"
#include "lab/topology.h"

namespace orrery::director {

class Network {
 public:
  /// More bytes than these may not be on their way to a card or to the switches: further frames are
  /// lost, as in a full queue.
  static constexpr std::size_t kMostBytes = std::size_t{64} << 20;

  struct Frame {
    Nanoseconds time = 0;  ///< of its arrival
    std::uint64_t number = 0;
    lab::NodeId node = 0;  ///< where it arrives
    unsigned port = 0;
    std::vector<std::byte> bytes;
  };
  struct Counts {
    std::uint64_t sent = 0, arrived = 0, lost = 0;
  };

  /// `folder`: for the captures, NAME-ethN.pcap; empty: none. `topology` must outlive the network.
  Network(const lab::Topology& topology, std::uint64_t seed, const std::string& folder);

  /// A machine sends a frame when its clock shows `time`. What is shorter than the header of a frame is
  /// lost.
  void sent(lab::NodeId host, unsigned port, Nanoseconds time, std::vector<std::byte> frame);
  /// Passes on what arrives at switches before or at `system` plus the least delay of all links: no
  /// frame with an earlier arrival can come any more, if no machine's clock is below `system`.
  void advance(Nanoseconds system);
  /// The next frame for a card of a machine; nullptr if there is none.
  const Frame* next_for(lab::NodeId host, unsigned port) const;
  /// Removes that frame; it is in the capture from now on.
  Frame take(lab::NodeId host, unsigned port);
  /// The arrival of the first frame anywhere; INT64_MAX if there is none.
  Nanoseconds next() const;

  const Counts& counts(lab::NodeId host) const { return counts_[host]; }
  const lab::Topology& topology() const { return topology_; }

 private:
  struct Later {
    bool operator()(const Frame& a, const Frame& b) const {
      return a.time != b.time ? a.time > b.time : a.number > b.number;
    }
  };
  /// Frames by time, with their size.
  struct Queue {
    std::priority_queue<Frame, std::vector<Frame>, Later> frames;
    std::size_t bytes = 0;
    void push(Frame frame);
    Frame pop();
  };
  struct Side {
    lab::Outgoing outgoing;
    Nanoseconds last = 0;
    Queue arriving = {};  ///< of a machine's card
    std::unique_ptr<lab::Capture> capture = nullptr;
  };

  Side& side(lab::NodeId node, unsigned port) { return sides_[first_port_[node] + port]; }
  const Side& side(lab::NodeId node, unsigned port) const {
    return sides_[first_port_[node] + port];
  }
  /// False if the frame does not arrive.
  bool leave(lab::NodeId node, unsigned port, Nanoseconds time, std::vector<std::byte> frame);
  void pass_switch(Frame frame);

  const lab::Topology& topology_;
  Nanoseconds least_delay_ = INT64_MAX;
  std::vector<std::size_t> first_port_;  // by node
  std::vector<Side> sides_;              // by node and port
  std::vector<lab::SwitchTable> tables_;
  Queue at_switches_;
  std::vector<Counts> counts_;
  std::uint64_t next_number_ = 0;
};

}  // namespace orrery::director
