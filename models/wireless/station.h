// SPDX-License-Identifier: Apache-2.0
//
// One station of the mesh, one logical process: a host that makes and relays packets, a queue, a
// MAC that decides when to transmit, and a receiver. README.md describes the protocol; events.h
// lists the events and their durations.
//
// The handler of an event computes the state at the event's start. Its results leave at the event's
// end or later, when the protocol says that the action is complete. So the heavy computations are
// in the longest events: decoding takes SIFS, processing takes `processing`.
#pragma once

#include <cstdint>
#include <vector>

#include "../common/countdown.h"
#include "../common/reception.h"
#include "events.h"
#include "model.h"
#include "orrery/orrery.h"

namespace wireless {

using orrery::Context;

// The dispatch tries the event types in this order: frequent types first.
class Station final : public orrery::LogicalProcess<Station, SignalStart, SignalEnd, Access,
                                                    TransmissionOver, FrameReady, Relay, Generate> {
 public:
  Station(const Wireless& model, LpId id);
  void start(Context& context) override;
  void finish(orrery::FinalContext& context) override;

  void handle(Context& context, const Generate&);
  void handle(Context& context, const Relay& relay);
  void handle(Context& context, const FrameReady& ready);
  void handle(Context& context, const Access& access);
  void handle(Context& context, const SignalStart& signal);
  void handle(Context& context, const SignalEnd& signal);
  void handle(Context& context, const TransmissionOver& over);

 private:
  enum class Mac : std::uint32_t {
    idle,          ///< nothing to send
    contending,    ///< waits for the medium and its back-off
    transmitting,  ///< or waits for the acknowledgement of a frame
  };
  struct Counts {
    std::uint64_t generated = 0, unreachable = 0, delivered = 0, delivered_bits = 0;
    std::uint64_t queue_drops = 0, retry_drops = 0, attempts = 0, failed = 0;
    std::uint64_t received = 0, collisions = 0, noise_losses = 0, missed = 0;
  };
  struct PortCounts {
    std::uint32_t attempts = 0, acknowledged = 0;
  };
  /// The last frame from a neighbour, to detect repetitions, which are not passed on again.
  struct LastFrame {
    LpId from;
    std::uint32_t number;
  };
  /// The frame that the receiver is locked on; `receiver_` has the state of its reception.
  struct Incoming {
    Packet packet;
    LpId to;
    std::uint32_t number;
    FrameKind kind;
  };

  // Host.
  void schedule_next_packet(Context& context, Time not_before);
  Packet make_packet(Context& context) const;
  void deliver(Context& context, const Packet& packet);

  // MAC.
  void begin_contention(Context& context);
  void resume(Context& context);
  void resume_by_carrier_sense(Context& context);
  void resume_by_time(Context& context);
  void pause(Time busy_from);
  void transmit(Context& context);
  void frame_done(Context& context);
  void frame_failed(Context& context);
  void acknowledged(Context& context, const Incoming& frame);
  void announce(Context& context, Duration lead, const SignalStart& signal);

  // Receiver.
  void frame_ended(Context& context);
  void data_received(Context& context, LpId from);
  bool is_repetition(LpId from, std::uint32_t number);
  void sense(Time now);
  bool senses_busy() const { return busy_; }

  bool counts_now(const Context& context) const { return counts_from(context.now()); }
  bool counts_from(Time time) const { return time >= Time::zero() + model_.warm_up; }
  std::int64_t counted_ticks(Time from, Time until) const;
  void work(std::int64_t steps) const;
  void add_state(orrery::FinalContext& context) const;
  void emit_rows(orrery::FinalContext& context, double airtime, double busy) const;

  const Wireless& model_;

  // Host. A host makes one packet at a time. The packet in the making was due at `next_packet_`.
  Time next_packet_;

  // MAC.
  std::vector<Packet> queue_;  // the station is sending the first packet
  Mac mac_ = Mac::idle;
  std::uint32_t contention_window_ = kContentionMinimum;
  std::uint32_t tries_ = 0;         // of the first frame
  std::uint32_t frame_number_ = 0;  // of the first frame
  Countdown countdown_;
  std::uint64_t access_number_ = 0;  // of the latest Access event
  std::uint64_t attempt_ = 0;        // of the latest TransmissionOver event
  Time transmits_until_;             // own frames and acknowledgements, begun or still to begin
  Time defers_until_;                // end of the others' exchanges that the station received

  // Receiver.
  Receiver receiver_;
  Incoming incoming_{};
  bool busy_ = false;  // senses a signal
  Time busy_since_, idle_since_;
  std::vector<LastFrame> last_frames_;

  // Results.
  Counts counts_;
  std::vector<PortCounts> ports_;
  std::int64_t busy_ticks_ = 0, transmit_ticks_ = 0, good_ticks_ = 0;
};

}  // namespace wireless
