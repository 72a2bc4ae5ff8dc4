// SPDX-License-Identifier: Apache-2.0
#include "engine/conservative/parts.h"

#include <algorithm>
#include <numeric>

namespace orrery::conservative {
namespace {

/// Parts of a worker's share, at least. Each part costs some 100 ns a window.
constexpr std::uint64_t kLeastShare = 2;
constexpr std::uint64_t kMostParts = 16384;
/// Data of a part: about what a core of a server has as second-level cache. With a million LPs parts
/// of 1 to 8 MiB made two workers 1.15 times as fast as parts of 512 KiB, whose lists and pending sets
/// are more often not in the cache; a grid of traffic lost a tenth with 4 MiB.
constexpr std::uint64_t kPartBytes = std::uint64_t{1} << 20;
/// Data that the caches of a few cores hold, so that smaller parts gain nothing.
constexpr std::uint64_t kLittleData = std::uint64_t{4} << 20;
/// Where LPs have few events each, most of an event's data come from memory, so a part announces its
/// events (pending/announcements.h) from this size on: a million LPs with one event each gain a tenth
/// or more. Where LPs have many events each, a twentieth is lost.
constexpr std::size_t kAnnounceFrom = 1024;
constexpr std::uint64_t kFewEventsAnLp = 16;
/// An event with its entries in the set, and an LP's object of usual size.
constexpr std::uint64_t kEventBytes = 96, kObjectBytes = 128;

std::uint64_t pending_events(const World& world) {
  std::uint64_t events = 0;
  for (const EventList& list : world.pending) events += list.size();
  return events;
}

/// `lps`: of this rank.
std::uint64_t lps_that_fit(const World& world, std::uint64_t lps) {
  const std::uint64_t events = pending_events(world);
  const std::uint64_t bytes = lps * (sizeof(Parts::Record) + kObjectBytes) + events * kEventBytes;
  return bytes <= kLittleData ? lps : lps * kPartBytes / bytes;
}

}  // namespace

Parts::Parts(World& world, unsigned workers, std::uint64_t part_lps)
    : world_(world),
      workers_(workers),
      keeps_to_shares_(world.executions().any_stays_on_thread()),
      owners_(world.lp_count()),
      places_(workers) {
  deal(part_lps);
  parts_ = std::make_unique<Part[]>(count_);
  if (count_ > kLeastShare * workers_ && pending_events(world) < kFewEventsAnLp * world.lp_count())
    for (unsigned part = 0; part < count_; ++part) parts_[part].events.announce_from(kAnnounceFrom);
  for (Place& place : places_)
    for (Lists& lists : place.sent) lists.resize(count_);
  if (world.on_heaps()) {
    lps_ = world.lps().data<Record>();
  } else {
    records_.resize(world.lp_count());
    lps_ = records_.data();
  }
}

Parts::~Parts() = default;

/// Assigns LPs to parts. The LPs of a part are neighbours by number, in the same worker's part of
/// the world's table, so they are mostly neighbours in the model. An LP goes to the part of its
/// cluster's lowest LP, which was assigned before.
void Parts::deal(std::uint64_t part_lps) {
  const LpId lps = world_.lp_count();
  const Clusters& clusters = world_.promises().clusters();
  const auto share_of = [&](LpId id) {
    return world_.parts() >= workers_ ? world_.worker_of(world_.part_of(id), workers_)
                                      : static_cast<unsigned>(std::uint64_t{id} * workers_ / lps);
  };
  std::vector<std::uint64_t> counts(workers_), dealt(workers_);
  for (LpId id = 0; id < lps; ++id)
    if (clusters.of(id) == id && world_.is_here(id)) ++counts[share_of(id)];
  if (part_lps == 0)
    part_lps =
        lps_that_fit(world_, std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}));
  part_lps = std::max<std::uint64_t>(1, part_lps);
  for (unsigned worker = 0; worker < workers_; ++worker) {
    const std::uint64_t wanted = std::max((counts[worker] + part_lps - 1) / part_lps, kLeastShare);
    places_[worker].begin = count_;
    count_ += static_cast<unsigned>(std::min({wanted, counts[worker], kMostParts / workers_}));
    places_[worker].end = count_;
  }
  for (LpId id = 0; id < lps; ++id) {
    const LpId first = clusters.of(id);
    if (first != id) {
      owners_[id] = owners_[first];
    } else if (!world_.is_here(id)) {
      owners_[id] = static_cast<std::uint16_t>(count_ + world_.rank_of(id));
    } else {
      const unsigned worker = share_of(id);
      const Place& place = places_[worker];
      owners_[id] = static_cast<std::uint16_t>(
          place.begin + dealt[worker]++ * (place.end - place.begin) / counts[worker]);
    }
  }
}

/// Promises for single pairs of LPs count only if LPs without one do not communicate. Otherwise the
/// general promise decides: it is the lowest.
std::int64_t Parts::shortest_delay(const Promises& promises) const {
  std::int64_t shortest = kNever;
  if (promises.complete()) {
    promises.for_each_edge([&](LpId from, const Promises::Edge& edge) {
      if (owners_[from] != owners_[edge.to] && owners_[edge.to] < count_)
        shortest = std::min(shortest, edge.minimum_delay.ticks());
    });
  } else if (std::any_of(owners_.begin(), owners_.end(),
                         [this](std::uint16_t owner) { return owner != owners_[0]; })) {
    shortest = promises.lookahead().ticks();
  }
  return shortest;
}

std::size_t Parts::bytes() const {
  std::size_t sum = depot_.slab_bytes() + records_.capacity() * sizeof(Record) +
                    owners_.capacity() * sizeof(std::uint16_t);
  for (unsigned part = 0; part < count_; ++part) sum += parts_[part].bytes();
  for (const Place& place : places_)
    for (const Lists& lists : place.sent)
      for (const auto& list : lists) sum += list.capacity() * sizeof(list[0]);
  return sum;
}

void Parts::take_lps(unsigned worker) {
  if (world_.on_heaps()) return;
  const std::uint64_t lps = records_.size();
  const auto end = static_cast<LpId>((worker + 1) * lps / workers_);
  for (auto id = static_cast<LpId>(worker * lps / workers_); id < end; ++id)
    static_cast<LpEntry&>(records_[id]) = world_.lp(id);
}

void Parts::end_taking() {
  if (!world_.on_heaps()) world_.lps().free();
}

void Parts::give_lps_back() {
  disconnect();
  parts_.reset();
  places_.clear();
  depot_.clear();
  if (world_.on_heaps() || !world_.lps().empty()) return;
  world_.lps().restore();
  for (LpId id = 0; id < world_.lp_count(); ++id) world_.lp(id) = records_[id];
}

}  // namespace orrery::conservative
