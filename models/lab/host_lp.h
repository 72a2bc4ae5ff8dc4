// SPDX-License-Identifier: Apache-2.0
//
// A host as an LP: a guest (guest.h) that runs during events of its LP, and cannot roll back. The LP
// lives in simulation time, the guest in that of the host's clock (host_clock.h); here they meet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "capture.h"
#include "guest.h"
#include "guest_error.h"
#include "lab.h"
#include "orrery/orrery.h"
#include "outgoing.h"
#include "run_log.h"
#include "wake.h"

namespace orrery::lab {

class HostLp final : public LogicalProcess<HostLp, Wake, Arrival>, private Network {
 public:
  HostLp(const Lab& lab, NodeId id);

  void start(Context& context) override;
  void handle(Context& context, const Wake&);
  void handle(Context& context, const Arrival& arrival, std::span<const std::byte> frame);
  void finish(FinalContext& context) override;
  const std::vector<Outgoing>& ports() const { return ports_; }
  /// The last lines of its console, safe to print; at most `most`. After a kernel panic, the lines end
  /// with the reason, without the calls that led there.
  std::vector<std::string> console_lines(std::size_t most) const;

 private:
  enum class End : std::uint8_t { off, crash, disorder };

  const Host& host() const { return lab_.host(id_); }
  std::int64_t now_ns() const { return context_->now().ticks(); }
  // Of the guest, in simulation time.
  std::int64_t next_ns() const { return clock().to_simulation(guest_->next()); }
  std::int64_t last_ns() const { return clock().to_simulation(guest_->last_ns()); }
  const HostClock& clock() const { return host().clock; }
  std::int64_t sent(unsigned device, std::int64_t host_time,
                    std::span<const std::byte> frame) override;
  void tell_carrier();
  void run(std::int64_t until);
  void check_repetition(std::int64_t passed_ns);
  void note_spread(std::int64_t until) const;
  void ended(End how, std::int64_t at, std::string_view why = {});
  void ended_wrongly(const GuestError& error);
  void note_counts(std::int64_t at);
  void end_guest();
  void emit_work(FinalContext& context) const;
  void wake_for_next();
  template <class Action>
  void in_guest(Action&& action);
  std::string console_end() const;
  void add_console_to(FinalContext& context) const;

  const Lab& lab_;
  const NodeId id_;
  std::filesystem::path console_;
  Context* context_ = nullptr;    ///< of the current event
  std::unique_ptr<Guest> guest_;  ///< nullptr: the guest has ended
  std::vector<Outgoing> ports_;
  std::vector<std::unique_ptr<Capture>> captures_;  ///< by port; nullptr: no capture
  SentFrames frames_sent_;
  WakeTimer wake_;
  std::uint64_t refused_ = 0;
  std::optional<Guest::Work> work_;
  std::int64_t up_ns_ = 0;  ///< when the guest, or the run, ended
};

}  // namespace orrery::lab
