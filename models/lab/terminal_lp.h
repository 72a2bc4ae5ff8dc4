// SPDX-License-Identifier: Apache-2.0
//
// This process's terminal as an LP: it gives the user a shell on a host (guest/shell.c), and sets
// the pace of the run, in virtual seconds by seconds of the machine's clock. The LP acts on the
// outside, so its events are executed only when they can no longer roll back. While it waits for
// the clock, no LP gets far ahead. Typed text becomes a frame to the host at the virtual time of
// the moment. The log of the run has the text and the time (run_log.h), so a run that repeats this
// one gives the host the same, without waiting for the clock, and then turns to the user (again.h).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "lab.h"
#include "orrery/orrery.h"
#include "outgoing.h"
#include "run_log.h"

namespace orrery::lab {

/// The terminal reads the clock and the typed text.
struct Look {
  static constexpr bool silent = true;
};

class TerminalLp final : public LogicalProcess<TerminalLp, Look, Arrival> {
 public:
  explicit TerminalLp(const Lab& lab);
  ~TerminalLp() override;

  void start(Context& context) override;
  void handle(Context& context, const Look&);
  void handle(Context& context, const Arrival& arrival, std::span<const std::byte> frame);

 private:
  class RawMode;
  enum class Kind : std::uint16_t { bytes, size, end };

  /// Does what came from outside by now in the run that is repeated. Returns the time until which
  /// nothing else is to do; now or earlier if the user's turn has come.
  std::int64_t repeat(Context& context);
  void turn_to_user(Context& context);
  void take_terminal();
  void look_again(Context& context, std::int64_t at_ns);
  /// Waits until the machine's clock shows `time`; returns false if text was typed before.
  bool wait_until(std::chrono::steady_clock::time_point time) const;
  void take_what_was_typed(Context& context);
  /// Sends what was typed, once the host's shell has begun.
  void tell_typed(Context& context);
  /// Executes a command: Ctrl-] and a key.
  void obey(Context& context, char key);
  /// Notes what came from outside, and does it.
  void take(Context& context, Outside::Kind kind, std::string bytes);
  void obey(Context& context, const Outside& outside);
  void tell(Context& context, Kind kind, std::string_view bytes);
  void tell_size(Context& context);
  void end();

  const Lab& lab_;
  std::optional<Outgoing> port_;  ///< to the host of the shell
  std::unique_ptr<RawMode> raw_;
  std::span<const Outside> repeated_;  ///< still to come
  double rate_;  ///< virtual seconds by wall-clock second; 0: as fast as possible
  std::chrono::steady_clock::time_point from_;  ///< the machine's clock at `from_ns_`
  std::int64_t from_ns_ = 0;
  bool is_live_ = false;      ///< the user's turn has come
  std::string typed_;         ///< and not yet sent
  bool shell_began_ = false;  ///< on the host
  bool input_open_ = true, expects_key_ = false, paused_ = false, ended_ = false;
};

}  // namespace orrery::lab
