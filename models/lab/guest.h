// SPDX-License-Identifier: Apache-2.0
//
// A host of the laboratory as its LP sees the host (host_lp.h): a machine with network devices,
// which runs only during advance(). advance(T) executes everything before T, each action at its
// exact time, and gives the frames that the guest sends to its Network. Between two calls the guest
// waits. Each kind of machine has a class of its own (machine.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace orrery::lab {

/// The date at the start of a run, in seconds of Unix time: 2023-11-14 22:13:20 UTC.
inline constexpr std::int64_t kStartOfDayS = 1'700'000'000;

/// Receives the frames that a guest sends.
class Network {
 public:
  /// The guest sends a frame at `time`. Returns when the last bit has left; from then on the guest
  /// may reuse the frame's buffer.
  virtual std::int64_t sent(unsigned device, std::int64_t time,
                            std::span<const std::byte> frame) = 0;

 protected:
  ~Network() = default;
};

/// Times are nanoseconds of the guest's own clock since its start (host_clock.h).
class Guest {
 public:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

  virtual ~Guest() = default;

  /// A frame arrives at a device at `time`, which no advance() has reached.
  virtual void arrive(unsigned device, std::int64_t time, std::vector<std::byte> frame) = 0;
  /// The link of a device goes up or down at `time`, which no advance() has reached. Links start
  /// up.
  virtual void carrier(unsigned device, std::int64_t time, bool up) = 0;
  /// Executes the guest before `until`. Throws GuestError (guest_error.h); then only end() may be
  /// called.
  virtual void advance(std::int64_t until) = 0;
  /// When the guest has to run again; kNever if only a frame will wake it.
  virtual std::int64_t next() const = 0;
  /// Ends the guest. True if all that it left in /out is now in its folder `out`. The last call.
  virtual bool end() = 0;
  /// False once the guest has ended.
  virtual bool is_up() const = 0;
  /// When the guest ended.
  virtual std::int64_t last_ns() const = 0;
  /// Frames for which the guest had no buffer.
  virtual std::uint64_t dropped() const = 0;
  /// What the guest's machine has done before `until`, which is not before the last advance(), or
  /// until it ended, if its instructions are counted.
  struct Work {
    std::int64_t instructions = 0;
    std::int64_t cards_on_ns = 0;  ///< for how long a driver ran its network cards, added up
  };
  virtual std::optional<Work> work(std::int64_t) const { return std::nullopt; }
};

}  // namespace orrery::lab
