// SPDX-License-Identifier: Apache-2.0
//
// What connects the workers of a rank with other ranks, for every engine. Workers write events as
// records into parcels of their own (egress.h in src/transport/ranks). Whichever thread makes
// progress forwards these parcels, turns the parcels that arrive into the engine's messages, and
// puts the messages into a ring for each worker (ingress.h there). Rounds of all ranks are those of
// rank_rounds.h there.
//
// An engine derives from Link. Its own part is: what a record says besides the event (`Extra`),
// what a message is, and what must happen between the steps of making progress (see
// `make_progress`).
//
// A record is the event's header, `Extra`, and the payload, at multiples of 8 bytes. Parcels go
// from a worker to a rank in order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <new>
#include <type_traits>
#include <utility>

#include "core/payload.h"
#include "run/events/event_list.h"
#include "run/events/plain_event.h"
#include "transport/ranks/egress.h"
#include "transport/ranks/ingress.h"
#include "transport/ranks/rank_rounds.h"
#include "transport/ranks/rank_transport.h"

namespace orrery::ranks {

struct NoExtra {};

/// A message that is an event and nothing else.
struct ArrivedEvent {
  PlainEvent* event = nullptr;
  void prefetch() const { __builtin_prefetch(event, 1); }
};

/// For Link::make_progress: nothing happens between the steps.
struct NoSteps {
  void begin() {}
  void forwarded() {}
  void received(bool) {}
  void end() {}
};

template <class Message, class Report, class Extra = NoExtra>
class Link {
  static_assert(std::is_empty_v<Extra> || sizeof(Extra) % 8 == 0);

 public:
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  // ---- By workers. `joined`: rounds that the worker has joined so far.
  transport::Egress& egress(unsigned worker) { return *egress_[worker]; }
  /// Writes a record for another rank; the caller still owns the event.
  template <class Payload>
  void send(unsigned worker, unsigned rank, const EventHeader& header, const Extra& extra,
            const Payload& payload, std::uint64_t joined) {
    std::byte* const place = egress_[worker]->extend(rank, record_bytes(header), joined);
    std::memcpy(place, static_cast<const void*>(&header), sizeof header);
    if constexpr (kExtraBytes > 0) std::memcpy(place + sizeof header, &extra, kExtraBytes);
    if (header.size.bytes() > 0)
      write_payload(place + sizeof header + kExtraBytes, payload, header.size);
  }
  /// Calls receive(message) for each message that has arrived for that worker; returns how many.
  template <class Receive>
  std::size_t drain(unsigned worker, Receive&& receive) {
    return ingress_.drain(worker, receive);
  }
  bool is_short_of_credit() const {
    for (unsigned to = 0; to < transport_.ranks(); ++to)
      if (transport_.is_short_of_credit(to, transport::Lane::events)) return true;
    return false;
  }
  bool looks_are_cheap() const { return transport_.looks_are_cheap(); }
  unsigned ranks() const { return transport_.ranks(); }
  transport::RankRounds<Report>& rounds() { return rounds_; }

 protected:
  Link(transport::RankTransport& transport, unsigned workers, transport::Rounds<Report>& rounds,
       std::size_t channel_messages)
      : transport_(transport),
        egress_(transport::make_egresses(transport, workers)),
        ingress_(workers, channel_messages),
        rounds_(transport, rounds, transport::counts_of(egress_)) {}
  ~Link() = default;

  /// From now on take(from, parcel) gets each parcel that arrives, with the transport's lock held.
  /// The constructor of an engine's link ends with this call, since parcels may be waiting.
  template <class Take>
  void open(Take&& take) {
    const std::lock_guard lock(transport_.mutex());
    transport_.receive_with(transport::Lane::events, std::forward<Take>(take));
  }
  /// The destructor of an engine's link begins with this call.
  void close() {
    const std::lock_guard lock(transport_.mutex());
    transport_.receive_with(transport::Lane::events, {});
  }

  /// Sends and receives parcels and advances the round, unless another thread is doing so. Makes an
  /// object `Steps{parts...}`, which lives while the transport's lock is held, and calls these
  /// functions of it:
  ///   begin()            before anything is sent
  ///   forwarded()        the parcels that workers have posted are on their way
  ///   received(in_place) parcels were received; `in_place`: workers can find all their messages
  ///   end()              the round has advanced
  template <class Steps, class... Parts>
  void make_progress(Parts&&... parts) {
    const std::unique_lock lock(transport_.mutex(), std::try_to_lock);
    if (!lock.owns_lock()) return;
    Steps steps{std::forward<Parts>(parts)...};
    steps.begin();
    transport_.hold();
    transport_.forward_posted();
    steps.forwarded();
    transport_.progress();
    const bool is_in_place = ingress_.flush();
    steps.received(is_in_place);
    rounds_.step(is_in_place);
    transport_.flush();
    steps.end();
  }

  // ---- By the thread that holds the transport's lock
  /// Calls take(header, extra, payload) for each record of a parcel, and counts the parcel.
  template <class TakeRecord>
  void take_records(const transport::Parcel& parcel, TakeRecord&& take) {
    const std::byte* const end = parcel.data() + parcel.size();
    for (const std::byte* at = parcel.data(); at != end;) {
      const auto& header = *std::launder(reinterpret_cast<const EventHeader*>(at));
      Extra extra{};
      if constexpr (kExtraBytes > 0) std::memcpy(&extra, at + sizeof header, kExtraBytes);
      take(header, extra, at + sizeof header + kExtraBytes);
      at += record_bytes(header);
    }
    rounds_.note_received(parcel.head().word);
  }
  void push(unsigned worker, Message message) { ingress_.push(worker, message); }
  /// The sender may send as many bytes again.
  void give_back(unsigned from, const transport::Parcel& parcel) {
    transport_.give_back(from, transport::Lane::events, parcel.image_bytes());
  }

  transport::RankTransport& transport_;

 private:
  static constexpr std::size_t kExtraBytes = std::is_empty_v<Extra> ? 0 : sizeof(Extra);

  static std::size_t record_bytes(const EventHeader& header) {
    return EventList::stored_bytes(header) + kExtraBytes;
  }

  const transport::Egresses egress_;
  transport::Ingress<Message> ingress_;
  transport::RankRounds<Report> rounds_;
};

}  // namespace orrery::ranks
