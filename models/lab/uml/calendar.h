// SPDX-License-Identifier: Apache-2.0
//
// The virtual time of a guest: a User Mode Linux started with `time-travel=ext:ID:SOCKET` asks here
// when it may go on (linux/um_timetravel.h, version 2 of its shared page). The guest runs only
// between run() and its WAIT, and reads and writes its time on a shared page of its own. So several
// guests may run at once, as each sees only itself and this process.
//
// Times are nanoseconds since the start. Times that the guest writes are checked; a time that runs
// backwards is a GuestError.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <optional>

#include "../channel.h"
#include "../file.h"

namespace orrery::lab {

class Calendar {
 public:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

  /// `start_of_day_ns`: the date at the guest's time 0, in nanoseconds of Unix time.
  explicit Calendar(std::int64_t start_of_day_ns);
  ~Calendar();
  Calendar(const Calendar&) = delete;
  Calendar& operator=(const Calendar&) = delete;

  /// The guest has connected: answers its START. After that the guest runs, from time 0 on.
  void attach(File socket);
  bool is_attached() const { return channel_.is_open(); }
  int descriptor() const { return channel_.descriptor(); }

  /// Receives one message.
  void receive();
  /// Whether the guest waits for run().
  bool waits() const { return waits_; }
  /// The time at which a waiting guest wants to run, or kNever.
  std::int64_t requested() const;
  /// The guest's time.
  std::int64_t now();
  /// The result of the last call of now().
  std::int64_t last() const { return now_; }
  /// How far a running guest says that it is; not checked, but no later than its limit.
  std::int64_t reached() const;
  /// Until when the guest may run, or was allowed to before it stopped.
  std::int64_t limit() const { return until_; }

  /// Sets the time of a waiting guest to `now` and lets it run until `until`.
  void run(std::int64_t now, std::int64_t until);
  /// Sets the time of a waiting guest to `now`, before it is interrupted.
  void hold(std::int64_t now);
  /// Limits a running guest to `until` if this is earlier than its present limit.
  void limit(std::int64_t until);

  // Notices without messages (kernel/lab_shared.h).
  struct Notice {
    std::int64_t time;
    unsigned device;
    std::uint16_t queue, index;  ///< the guest has offered chains up to `index`
  };
  /// Interrupts a waiting guest as soon as it runs. Returns false if the guest does not yet take
  /// interrupts of that device through the shared page.
  bool interrupt(unsigned device, unsigned queue);
  /// Whether a waiting guest takes one more arrival() of that device.
  bool takes_arrival(unsigned device) const;
  /// Announces a frame that the guest finds at `time`, no earlier than the frames before. At `time`
  /// the used index of the receiving queue becomes `index`.
  void arrival(std::int64_t time, unsigned device, std::uint16_t index);
  /// Time of the next frame that the guest has not found yet; kNever if there is none.
  std::int64_t next_arrival() const;
  /// Devices (bits) whose sending the guest only notes, instead of sending a message at once.
  void set_quiet(std::uint32_t devices);
  /// Whether a guest that has ended was switched off.
  bool was_switched_off() const;
  /// The next notice of the guest, if there is one. The guest's time moves to that of the notice.
  std::optional<Notice> next_notice();

 private:
  struct Message {
    std::uint32_t operation, sequence;
    std::uint64_t time;
  };
  struct Page;

  void acknowledge(const Message& message, std::uint64_t time) const;
  void advance(std::uint64_t time);

  const std::int64_t start_of_day_ns_;
  Page* page_ = nullptr;
  File page_file_;
  Channel channel_;
  std::int64_t now_ = 0, until_ = 0;
  std::uint32_t sequence_ = 0, taken_ = 0;  ///< numbers of messages and of notices
  std::uint32_t given_ = 0;                 ///< number of arrivals
  bool waits_ = false;
};

}  // namespace orrery::lab
