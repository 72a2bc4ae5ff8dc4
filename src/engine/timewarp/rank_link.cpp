// SPDX-License-Identifier: Apache-2.0
#include "engine/timewarp/rank_link.h"

#include <cstring>
#include <new>

namespace orrery::timewarp {

RankLink::RankLink(transport::RankTransport& transport, const World& world,
                   const std::vector<std::uint16_t>& owners, unsigned workers, GvtRounds& rounds,
                   EventDepot& depot, std::size_t channel_messages)
    : Link(transport, workers, rounds, channel_messages),
      world_(world),
      owners_(owners),
      pool_(depot) {
  open([this](unsigned from, const transport::Parcel& parcel) { take(from, parcel); });
}

RankLink::~RankLink() {
  close();
}

struct RankLink::Steps {
  RankLink& link;
  Federate* const federate;
  std::uint64_t stage = 0;

  // Messages that arrive when no thread is a federate any more need no announcement.
  ~Steps() { link.federate_ = nullptr; }
  void begin() { link.federate_ = federate; }
  void forwarded() {}
  void received(bool) { stage = link.rounds().stage(); }
  void end() {
    if (federate != nullptr) {
      link.transport_.take_sent(
          [this](unsigned rank, bool urgent) { federate->note_sent(rank, urgent); });
      if (link.rounds().stage() != stage) federate->call_threads();
    }
    if (!link.late_.empty()) link.late_.wake();
  }
};

void RankLink::progress(Federate* federate) {
  make_progress<Steps>(*this, federate);
}

void RankLink::take(unsigned from, const transport::Parcel& parcel) {
  take_records(parcel, [this](const EventHeader& header, CauseTime cause,
                              const std::byte* payload) { take_record(header, cause, payload); });
  used_bytes_.store(pool_.used_bytes(), std::memory_order_relaxed);
  give_back(from, parcel);
}

/// Makes an event or antimessage of a record.
void RankLink::take_record(const EventHeader& header, CauseTime cause, const std::byte* payload) {
  const std::size_t bytes = header.size.bytes();
  auto* const event = new (pool_.allocate(TwEvent::kPayloadOffset + bytes)) TwEvent(header);
  std::memcpy(event->payload(), payload, bytes);
  const unsigned owner = owners_[header.receiver];
  if (cause.ticks == kAntimessage) {
    event->route = Route::antimessage;
  } else {
    event->route = Route::imported;
    event->cause_ticks = cause.ticks;
  }
  late_.note(owner, header.time());
  if (federate_ != nullptr) federate_->note_thread(owner, header.time());
  push(owner, Message::event(event));
}

}  // namespace orrery::timewarp
