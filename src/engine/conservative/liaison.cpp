// SPDX-License-Identifier: Apache-2.0
#include "engine/conservative/liaison.h"

#include <new>

namespace orrery::conservative {

using transport::Lane;
using transport::Parcel;

namespace {
/// Least time between promises to other ranks while this rank has work; else a promise goes at
/// once.
const std::uint64_t kTellCycles = cycles_in(30e-6);
}  // namespace

Liaison::Liaison(transport::RankTransport& transport, const Partition& partition, Rounds& rounds,
                 transport::Board<>& board, EventDepot& depot, std::size_t channel_messages)
    : transport_(transport),
      partition_(partition),
      board_(board),
      egress_(transport::make_egresses(transport, partition.workers())),
      lines_(std::make_unique<Line[]>(partition.workers())),
      ingress_(partition.workers(), channel_messages),
      rounds_(transport, rounds, transport::counts_of(egress_)),
      pool_(depot),
      later_(transport.ranks()),
      heard_(transport.ranks()) {
  const std::lock_guard lock(transport_.mutex());
  transport_.receive_with(
      Lane::events, [this](unsigned from, Parcel parcel) { receive(from, std::move(parcel)); });
}

Liaison::~Liaison() {
  const std::lock_guard lock(transport_.mutex());
  transport_.receive_with(Lane::events, {});
}

bool Liaison::is_short_of_credit() const {
  for (unsigned to = 0; to < transport_.ranks(); ++to)
    if (transport_.is_short_of_credit(to, Lane::events)) return true;
  return false;
}

/// The order matters: read the promises, forward posted parcels, send the promise (see liaison.h).
void Liaison::progress(bool idle) {
  const std::unique_lock lock(transport_.mutex(), std::try_to_lock);
  if (!lock.owns_lock()) return;
  const std::int64_t ticks = promise_of_all();
  transport_.hold();
  transport_.forward_posted();
  tell_promise(ticks, idle);
  transport_.progress();
  const bool is_in_place = ingress_.flush();
  if (is_in_place) tell_promises_heard();
  rounds_.step(is_in_place);
  transport_.flush();
}

std::int64_t Liaison::promise_of_all() const {
  std::int64_t lowest = kNever;
  for (unsigned worker = 0; worker < partition_.workers(); ++worker)
    lowest = std::min(lowest, lines_[worker].ticks.load(std::memory_order_acquire));
  return lowest;
}

/// Sends this rank's promise to the ranks that its LPs can reach.
void Liaison::tell_promise(std::int64_t ticks, bool idle) {
  if (ticks <= told_) return;
  const std::uint64_t now = read_cycles();
  if (!idle && now - told_cycles_ < kTellCycles) return;
  told_ = ticks;
  told_cycles_ = now;
  for (unsigned node = partition_.workers(); node < partition_.nodes(); ++node) {
    if (!partition_.reaches(node)) continue;
    Parcel parcel(sizeof ticks);
    parcel.append(&ticks, sizeof ticks);
    parcel.head().kind = kPromise;
    parcel.head().place = period_;
    transport_.send(partition_.rank_of_node(node), Lane::events, std::move(parcel));
  }
}

void Liaison::begin_period() {
  const std::lock_guard lock(transport_.mutex());
  ++period_;
  for (unsigned from = 0; from < later_.size(); ++from)
    for (; !later_[from].empty(); later_[from].pop_front()) take(from, later_[from].front());
}

/// No rank is more than a period ahead.
void Liaison::receive(unsigned from, Parcel parcel) {
  if (parcel.head().place == static_cast<std::uint16_t>(period_ + 1)) {
    later_[from].push_back(std::move(parcel));
  } else {
    take(from, parcel);
  }
}

void Liaison::take(unsigned from, const Parcel& parcel) {
  if (parcel.head().kind == kPromise) {
    std::int64_t ticks;
    std::memcpy(&ticks, parcel.data(), sizeof ticks);
    heard_[from] = std::max(heard_[from], ticks);
    heard_anew_ = true;
  } else {
    take_events(parcel);
    rounds_.note_received(parcel.head().word);
  }
  transport_.give_back(from, Lane::events, parcel.image_bytes());
}

void Liaison::take_events(const Parcel& parcel) {
  const std::byte* at = parcel.data();
  const std::byte* const end = at + parcel.size();
  while (at != end) {
    const auto& header = *std::launder(reinterpret_cast<const EventHeader*>(at));
    const std::byte* const payload = at + sizeof header;
    PlainEvent* const event = PlainEvent::make(pool_, header, static_cast<const void*>(payload));
    ingress_.push(partition_.owners()[header.receiver], {event});
    at += EventList::stored_bytes(header);
  }
}

/// Puts received promises on the board. Events that came before them are in the workers' rings.
void Liaison::tell_promises_heard() {
  if (!std::exchange(heard_anew_, false)) return;
  for (unsigned rank = 0; rank < heard_.size(); ++rank)
    if (rank != transport_.rank()) board_.promise(partition_.node_of_rank(rank), heard_[rank]);
}

}  // namespace orrery::conservative
