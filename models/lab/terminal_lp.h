// SPDX-License-Identifier: Apache-2.0
//
// This process's terminal as an LP: a shell on a host (guest/shell.c) for who sits there, and the
// pace of the run, virtual seconds by seconds of the machine's clock. It acts on the outside, so it
// is executed when all before is certain, and while it waits for the clock nobody gets far ahead.
// What is typed becomes a frame to the host at the virtual time of the moment: such a run cannot be
// repeated.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "lab.h"
#include "orrery/orrery.h"
#include "outgoing.h"

namespace orrery::lab {

/// The terminal has a look at the clock, and at what was typed.
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

  /// Waits for the time of the clock; false if something was typed before.
  bool wait_until(std::chrono::steady_clock::time_point time) const;
  void take_what_was_typed(Context& context);
  /// Ctrl-] and a key.
  void obey(Context& context, char key);
  void tell(Context& context, Kind kind, std::string_view bytes);
  void tell_size(Context& context);
  void end();

  const Lab& lab_;
  std::optional<Outgoing> port_;  ///< to the host whose shell it is
  std::unique_ptr<RawMode> raw_;
  double rate_;  ///< virtual seconds a second; 0: as fast as possible
  std::chrono::steady_clock::time_point from_;  ///< when it was `from_ns_`
  std::int64_t from_ns_ = 0;
  bool input_open_ = true, expects_key_ = false, paused_ = false, ended_ = false;
};

}  // namespace orrery::lab
