// SPDX-License-Identifier: Apache-2.0
//
// A User Mode Linux process with its network devices as a guest: the calendar gives it time, and the
// devices take and give frames without a stop where possible.
#pragma once

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <queue>
#include <span>
#include <tuple>
#include <vector>

#include "../guest.h"
#include "../guest_process.h"
#include "../guest_timeout.h"
#include "calendar.h"
#include "network_device.h"
#include "uml_settings.h"

namespace orrery::lab {

class UmlGuest final : public Guest {
 public:
  /// Starts the guest and does not wait, so hosts start side by side. Throws std::system_error.
  UmlGuest(const UmlSettings& settings, Network& network);
  ~UmlGuest() override;
  UmlGuest(const UmlGuest&) = delete;
  UmlGuest& operator=(const UmlGuest&) = delete;

  void arrive(unsigned device, std::int64_t time, std::vector<std::byte> frame) override;
  void carrier(unsigned device, std::int64_t time, bool up) override;
  void advance(std::int64_t until) override;
  std::int64_t next() const override;
  bool end() override { return process_->end(); }
  bool is_up() const override { return up_; }
  std::int64_t last_ns() const override { return calendar_.last(); }
  std::uint64_t dropped() const override { return dropped_; }

 private:
  struct Port;
  /// An action on the guest at a time: its link goes down or up, it gets a buffer back, or a frame
  /// arrives. The order of actions of one time does not depend on the times for which advance() was
  /// called.
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
  /// When the guest wants to go on without a Due.
  std::int64_t wake() const {
    return std::min({owed_, calendar_.requested(), calendar_.next_arrival()});
  }
  void give_frames(std::int64_t until);
  std::uint32_t quiet_devices() const;
  std::int64_t next_due() const { return due_.empty() ? kNever : due_.top().time; }
  void look();
  void got_on();
  bool is_idle() const;
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
  std::unique_ptr<Listener> time_;  ///< until the guest has connected
  std::vector<std::unique_ptr<Listener>> listeners_;
  std::vector<std::unique_ptr<NetworkDevice>> devices_;
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
  std::uint64_t order_ = 0;
  std::int64_t owed_ = kNever;     ///< when the guest has to run for a pending interrupt
  std::int64_t sending_ns_ = 0;    ///< when it sent the frames being taken from its queue
  std::vector<unsigned> sending_;  ///< by device: frames whose buffers the guest has not got back
  std::uint64_t dropped_ = 0;      ///< frames for which the guest had no buffer
  bool up_ = true;
  std::vector<pollfd> watched_;  ///< the calendar's channel, and each device's
  int core_ = -1;                ///< the core of its processes
  std::unique_ptr<GuestProcess> process_;
  GuestTimeout timeout_;
  std::int64_t got_on_at_ = 0;  ///< the guest's time when it last got on
};

}  // namespace orrery::lab
