// SPDX-License-Identifier: Apache-2.0
#include "engine/timewarp/abroad.h"

#include <new>
#include <utility>

namespace orrery::timewarp {

using transport::Lane;
using transport::Parcel;

Abroad::Abroad(transport::RankTransport& transport, const World& world,
               const std::vector<std::uint16_t>& owners, const Bells& bells, unsigned workers,
               GvtRounds& rounds, EventDepot& depot, std::size_t channel_messages)
    : transport_(transport),
      world_(world),
      owners_(owners),
      bells_(bells),
      egress_(transport::make_egresses(transport, workers)),
      ingress_(workers, channel_messages),
      rounds_(transport, rounds, transport::counts_of(egress_)),
      pool_(depot) {
  const std::lock_guard lock(transport_.mutex());
  transport_.receive_with(Lane::events,
                          [this](unsigned from, const Parcel& parcel) { take(from, parcel); });
}

Abroad::~Abroad() {
  const std::lock_guard lock(transport_.mutex());
  transport_.receive_with(Lane::events, {});
}

// ---- By workers

std::byte* Abroad::begin_record(unsigned worker, const EventHeader& header,
                                std::int64_t cause_ticks, std::uint64_t joined) {
  std::byte* const place =
      egress_[worker]->extend(world_.rank_of(header.receiver), record_bytes(header), joined);
  std::memcpy(place, static_cast<const void*>(&header), sizeof header);
  std::memcpy(place + sizeof header, &cause_ticks, sizeof cause_ticks);
  return place + kHeadBytes;
}

void Abroad::send(unsigned worker, const TwEvent& event, std::int64_t cause_ticks,
                  std::uint64_t joined) {
  std::byte* const place = begin_record(worker, event, cause_ticks, joined);
  std::memcpy(place, event.payload(), event.size.bytes());
}

void Abroad::cancel(unsigned worker, const TwEvent& record, std::uint64_t joined) {
  begin_record(worker, EventHeader(record.key(), record.receiver, record.type, {}), kAntimessage,
               joined);
}

bool Abroad::is_short_of_credit() const {
  for (unsigned to = 0; to < transport_.ranks(); ++to)
    if (transport_.is_short_of_credit(to, Lane::events)) return true;
  return false;
}

void Abroad::progress(Federate* federate) {
  const std::unique_lock lock(transport_.mutex(), std::try_to_lock);
  if (!lock.owns_lock()) return;
  // Messages that arrive when no thread is a federate any more need no announcement.
  struct AtWork {
    Federate*& place;
    ~AtWork() { place = nullptr; }
  } const at_work{federate_ = federate};
  transport_.hold();
  transport_.forward_posted();
  transport_.progress();
  const bool is_in_place = ingress_.flush();
  const std::uint64_t stage = rounds_.stage();
  rounds_.step(is_in_place);
  transport_.flush();
  if (federate != nullptr) {
    transport_.take_sent(
        [federate](unsigned rank, bool urgent) { federate->note_sent(rank, urgent); });
    if (rounds_.stage() != stage) federate->call_threads();
  }
  if (!late_.empty()) late_.ring();
}

// ---- By the thread that holds the transport's lock

void Abroad::take(unsigned from, const Parcel& parcel) {
  const std::byte* const end = parcel.data() + parcel.size();
  for (const std::byte* at = parcel.data(); at != end;) at = take_record(at);
  used_bytes_.store(pool_.used_bytes(), std::memory_order_relaxed);
  rounds_.note_received(parcel.head().word);
  transport_.give_back(from, Lane::events, parcel.image_bytes());
}

/// Makes an event or antimessage of the record at `at`. Returns where the next record begins.
const std::byte* Abroad::take_record(const std::byte* at) {
  const auto& header = *std::launder(reinterpret_cast<const EventHeader*>(at));
  std::int64_t cause_ticks;
  std::memcpy(&cause_ticks, at + sizeof header, sizeof cause_ticks);
  const std::byte* const payload = at + kHeadBytes;
  const std::size_t bytes = header.size.bytes();
  auto* const event = new (pool_.allocate(TwEvent::kPayloadOffset + bytes)) TwEvent(header);
  std::memcpy(event->payload(), payload, bytes);
  const unsigned owner = owners_[header.receiver];
  if (cause_ticks == kAntimessage) {
    event->route = Route::antimessage;
  } else {
    event->route = Route::imported;
    event->cause_ticks = cause_ticks;
  }
  late_.note(owner, header.time());
  if (federate_ != nullptr) federate_->note_thread(bells_.thread_of(owner), header.time());
  ingress_.push(owner, Message::event(event));
  return at + record_bytes(header);
}

}  // namespace orrery::timewarp
