// SPDX-License-Identifier: Apache-2.0
//
// A QEMU as a guest. Its processor executes a fixed number of instructions a second, and this process
// grants it time by messages (protocol.h). QEMU itself is not trusted: a guest may have broken out
// into it. Every message is checked against the grant.
//
// A grant is short, so that an answer comes within seconds of the machine's time from any guest that
// gets on. An idle guest tells when it goes on, and is not woken before.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "../channel.h"
#include "../guest.h"
#include "../guest_process.h"
#include "../guest_timeout.h"
#include "protocol.h"

namespace orrery::lab {

class QemuGuest final : public Guest {
 public:
  /// Starts the guest and does not wait, so hosts start side by side. `command` is without the
  /// descriptor for messages. Throws std::system_error.
  QemuGuest(GuestCommand&& command, unsigned cards, std::chrono::milliseconds patience,
            Network& network);

  void arrive(unsigned device, std::int64_t time, std::vector<std::byte> frame) override;
  void carrier(unsigned device, std::int64_t time, bool up) override;
  void advance(std::int64_t until) override;
  std::int64_t next() const override;
  bool end() override { return process_->end(); }
  bool is_up() const override { return up_; }
  std::int64_t last_ns() const override { return last_; }
  std::uint64_t dropped() const override { return dropped_; }
  std::optional<Work> work(std::int64_t until) const override;

 private:
  /// What happens to the guest, by time and kind; of equals, the first comes first.
  struct Due {
    unsigned card;
    std::vector<std::byte> frame;
  };
  using Actions = std::multimap<std::pair<std::int64_t, orrery_kind>, Due>;

  std::int64_t next_due() const { return due_.empty() ? kNever : due_.begin()->first.first; }
  void begin();
  void grant(std::int64_t until);
  void serve(std::int64_t until);
  void tell(const orrery_message& message, std::span<const std::byte> frame = {}) const;
  orrery_message await();
  void send_frame(const orrery_message& message);
  void stopped(const orrery_message& message, std::int64_t until);
  void ended(const orrery_message& message);
  void note_work(const orrery_message& message);

  Network& network_;
  const unsigned cards_;
  Channel channel_;
  std::unique_ptr<GuestProcess> process_;
  Actions due_;
  std::int64_t granted_ = -1;  ///< all before has been executed; -1: QEMU has not answered yet
  std::int64_t next_ = 0;      ///< when the guest goes on by itself
  std::int64_t last_ = 0;      ///< time of the guest's last act
  std::uint64_t dropped_ = 0;
  Work work_;                  ///< before granted_, or the guest's end
  std::int64_t cards_on_ = 0;  ///< since then
  bool up_ = true;
  int core_ = -1;  ///< the core of its processes
  std::vector<std::byte> frame_;
  GuestTimeout timeout_;
};

}  // namespace orrery::lab
