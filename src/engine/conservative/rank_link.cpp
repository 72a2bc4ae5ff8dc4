// SPDX-License-Identifier: Apache-2.0
#include "engine/conservative/rank_link.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

#include "core/cycles.h"

namespace orrery::conservative {

using transport::Lane;
using transport::Parcel;

namespace {
/// Least time between promises to other ranks while this rank has work; else a promise goes at
/// once.
const std::uint64_t kTellCycles = cycles_in(30e-6);
}  // namespace

RankLink::RankLink(transport::RankTransport& transport, const Partition& partition, Rounds& rounds,
                   transport::Board<>& board, EventDepot& depot, std::size_t channel_messages)
    : Link(transport, partition.workers(), rounds, channel_messages),
      partition_(partition),
      board_(board),
      lines_(std::make_unique<Line[]>(partition.workers())),
      pool_(depot),
      later_(transport.ranks()),
      heard_(transport.ranks()) {
  open([this](unsigned from, Parcel parcel) { receive(from, std::move(parcel)); });
}

RankLink::~RankLink() {
  close();
}

/// The order matters: read the promises, forward posted parcels, send the promise (rank_link.h).
struct RankLink::Steps {
  RankLink& link;
  const bool idle;
  std::int64_t ticks = 0;

  void begin() { ticks = link.promise_of_all(); }
  void forwarded() { link.tell_promise(ticks, idle); }
  void received(bool in_place) {
    if (in_place) link.tell_promises_heard();
  }
  void end() {}
};

void RankLink::progress(bool idle) {
  make_progress<Steps>(*this, idle);
}

std::int64_t RankLink::promise_of_all() const {
  std::int64_t lowest = kNever;
  for (unsigned worker = 0; worker < partition_.workers(); ++worker)
    lowest = std::min(lowest, lines_[worker].ticks.load(std::memory_order_acquire));
  return lowest;
}

/// Sends this rank's promise to the ranks that its LPs can reach.
void RankLink::tell_promise(std::int64_t ticks, bool idle) {
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

void RankLink::begin_period() {
  const std::lock_guard lock(transport_.mutex());
  ++period_;
  for (unsigned from = 0; from < later_.size(); ++from)
    for (; !later_[from].empty(); later_[from].pop_front()) take(from, later_[from].front());
}

/// No rank is more than a period ahead.
void RankLink::receive(unsigned from, Parcel parcel) {
  if (parcel.head().place == static_cast<std::uint16_t>(period_ + 1)) {
    later_[from].push_back(std::move(parcel));
  } else {
    take(from, parcel);
  }
}

void RankLink::take(unsigned from, const Parcel& parcel) {
  if (parcel.head().kind == kPromise) {
    std::int64_t ticks;
    std::memcpy(&ticks, parcel.data(), sizeof ticks);
    heard_[from] = std::max(heard_[from], ticks);
    heard_anew_ = true;
  } else {
    take_records(parcel, [this](const EventHeader& header, ranks::NoExtra, const void* payload) {
      push(partition_.owners()[header.receiver], {PlainEvent::make(pool_, header, payload)});
    });
  }
  give_back(from, parcel);
}

/// Puts received promises on the board. Events that came before them are in the workers' rings.
void RankLink::tell_promises_heard() {
  if (!std::exchange(heard_anew_, false)) return;
  for (unsigned rank = 0; rank < heard_.size(); ++rank)
    if (rank != transport_.rank()) board_.promise(partition_.node_of_rank(rank), heard_[rank]);
}

}  // namespace orrery::conservative
