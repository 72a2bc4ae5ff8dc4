// SPDX-License-Identifier: Apache-2.0
//
// The time of a guest: a User Mode Linux that is started with `time-travel=ext:ID:SOCKET` asks here
// when it may go on (linux/um_timetravel.h, version 2 of its shared page). It runs only between
// run() and its WAIT, and reads and writes its time on a page of memory, one for each guest, so
// that several may run at once: to a guest there is nobody but itself and us.
//
// Times are nanoseconds since the start. What the guest writes is checked: time that runs backwards
// is an error of the guest's.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <optional>

#include "channel.h"
#include "file.h"

namespace orrery::lab {

class Calendar {
 public:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
  /// What a guest takes for the time of day at its start, in seconds: 2023-11-14 22:13:20 UTC.
  static constexpr std::int64_t kStartOfDayS = 1'700'000'000;

  Calendar();
  ~Calendar();
  Calendar(const Calendar&) = delete;
  Calendar& operator=(const Calendar&) = delete;

  /// The guest has connected: answers its START. It runs then, from time 0 on.
  void attach(File socket);
  bool is_attached() const { return channel_.is_open(); }
  int descriptor() const { return channel_.descriptor(); }

  /// Takes one message.
  void receive();
  /// It waits to be told to run.
  bool waits() const { return waits_; }
  /// For what, or kNever. While it waits.
  std::int64_t requested() const;
  /// Its time.
  std::int64_t now();
  /// The same as it was when now() was called last.
  std::int64_t last() const { return now_; }

  /// It is `now`, and the guest, which waits, may run until `until`.
  void run(std::int64_t now, std::int64_t until);
  /// It is `now`, and the guest, which waits, is to be interrupted.
  void hold(std::int64_t now);
  /// The guest, which runs, may do so only until `until` if that is earlier than before.
  void limit(std::int64_t until);

  // Notices without messages (kernel/lab_shared.h).
  struct Notice {
    std::int64_t time;
    unsigned device;
    std::uint16_t queue, index;  ///< chains up to `index` are there
  };
  /// The guest, which waits, is interrupted when it runs next. False if it takes no interrupts of
  /// that device here yet.
  bool interrupt(unsigned device, unsigned queue);
  /// Whether the guest, which waits, takes one more arrival() of that device.
  bool takes_arrival(unsigned device) const;
  /// A frame that the guest finds at that time, no earlier than those before: then the index of the
  /// receiving queue becomes `index`.
  void arrival(std::int64_t time, unsigned device, std::uint16_t index);
  /// Of the next that it has not found, kNever if there is none.
  std::int64_t next_arrival() const;
  /// Devices (bits) of which the guest is to note that they send, instead of saying so at once.
  void set_quiet(std::uint32_t devices);
  /// Whether the guest, which has gone, has been switched off.
  bool was_switched_off() const;
  /// Moves on the guest's time over what it has noted: the next notice, if there is one.
  std::optional<Notice> next_notice();

 private:
  struct Message {
    std::uint32_t operation, sequence;
    std::uint64_t time;
  };
  struct Page;

  void acknowledge(const Message& message, std::uint64_t time) const;
  void advance(std::uint64_t time);

  Page* page_ = nullptr;
  File page_file_;
  Channel channel_;
  std::int64_t now_ = 0;
  std::uint32_t sequence_ = 0, taken_ = 0;  ///< messages; notices
  std::uint32_t given_ = 0;                 ///< arrivals
  bool waits_ = false;
};

}  // namespace orrery::lab
