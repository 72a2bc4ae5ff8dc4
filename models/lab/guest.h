// SPDX-License-Identifier: Apache-2.0
//
// A host of the laboratory: a User Mode Linux process that runs when it is told to and as long as
// it may, with its network devices. Whoever has it calls advance(T): what it has to do before T
// happens then, each at its exact time, and what it sends is told to its Network. Between two calls
// it waits, whatever the machine does.
#pragma once

#include <poll.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <queue>
#include <span>
#include <tuple>
#include <vector>

#include "calendar.h"
#include "guest_process.h"
#include "network_device.h"
#include "patience.h"

namespace orrery::lab {

/// Where frames go.
class Network {
 public:
  /// The guest sends a frame at `time`. Returns when its last bit has left, from when on the guest
  /// may use its buffer again.
  virtual std::int64_t sent(unsigned device, std::int64_t time,
                            std::span<const std::byte> frame) = 0;

 protected:
  ~Network() = default;
};

class Guest {
 public:
  static constexpr std::int64_t kNever = Calendar::kNever;

  /// Starts it, and does not wait: hosts start side by side. Throws std::system_error.
  Guest(const GuestSettings& settings, Network& network);
  ~Guest();
  Guest(const Guest&) = delete;
  Guest& operator=(const Guest&) = delete;

  /// A frame arrives at a device at that time, which no advance() has reached.
  void arrive(unsigned device, std::int64_t time, std::vector<std::byte> frame);
  /// The link of a device is up or down from that time on, which no advance() has reached. It is up
  /// at first.
  void carrier(unsigned device, std::int64_t time, bool up);
  /// Executes all that it does before `until`. Throws GuestError; then it is dead.
  void advance(std::int64_t until);
  /// When it is to do something again, kNever if nothing but a frame will wake it.
  std::int64_t next() const;
  /// Ends it. True if all that it left in /out is in its folder `out` then. The last call.
  bool end() { return process_->end(); }
  /// False once it has ended in order.
  bool is_up() const { return up_; }
  /// Of one that has ended: when.
  std::int64_t last_ns() const { return calendar_.last(); }
  std::uint64_t dropped() const { return dropped_; }

 private:
  struct Port;
  /// Something for the guest at a time: its link goes down or up, it may use a buffer again, or a
  /// frame. What comes at the same time comes in an order that does not depend on how far advance()
  /// was called.
  struct Due {
    enum class Kind : std::uint8_t { link_down, link_up, buffer, frame };

    std::int64_t time;
    std::uint64_t order;
    unsigned device;
    Kind kind;
    std::uint32_t token;
    std::vector<std::byte> frame;
    bool operator>(const Due& other) const {
      return std::tie(time, kind, order) > std::tie(other.time, other.kind, other.order);
    }
  };

  std::size_t wait_for(std::span<pollfd> all);
  void begin();
  void sent(unsigned device, std::span<const std::byte> frame, std::uint32_t token);
  void add(Due&& due);
  /// When it is to go on by itself.
  std::int64_t wake() const {
    return std::min({owed_, calendar_.requested(), calendar_.next_arrival()});
  }
  void give_frames(std::int64_t until);
  std::uint32_t quiet_devices() const;
  std::int64_t next_due() const { return due_.empty() ? kNever : due_.top().time; }
  void look();
  void heard();
  void run();
  void do_next();
  void interrupt(unsigned device, std::uint16_t queue);
  void change_carrier(unsigned device, bool up);
  void await_answer(unsigned device);
  void take_notices();
  void accept_or_receive(unsigned device);

  Network& network_;
  Calendar calendar_;
  std::vector<std::unique_ptr<Port>> ports_;
  std::unique_ptr<Listener> time_;  ///< until it has come
  std::vector<std::unique_ptr<Listener>> listeners_;
  std::vector<std::unique_ptr<NetworkDevice>> devices_;
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
  std::uint64_t order_ = 0;
  std::int64_t owed_ = kNever;     ///< when it is to run for an interrupt that it was given
  std::int64_t sending_ns_ = 0;    ///< when it sent what is taken
  std::vector<unsigned> sending_;  ///< by device: frames whose buffers it does not have back
  std::uint64_t dropped_ = 0;      ///< frames without a buffer
  bool up_ = true;
  std::vector<pollfd> watched_;  ///< its time, and each device
  int core_ = -1;                ///< where its processes are
  std::unique_ptr<GuestProcess> process_;
  Patience patience_;
  std::int64_t heard_at_ = 0;  ///< its time, up to a millisecond ago
  std::uint64_t heard_ = 0;    ///< messages since
};

}  // namespace orrery::lab
