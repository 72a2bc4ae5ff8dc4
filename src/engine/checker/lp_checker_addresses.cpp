// SPDX-License-Identifier: Apache-2.0
//
// LpChecker: finds the member of an LP that depends on where its memory lies, for the sentence of a
// finding by the twin (twin.h). The event that shows the difference may be a late one: long before,
// the LP may have hashed an address, or visited a map that is ordered by addresses, and stored the
// result.
//
// An LP and its twin are objects of one class, so words at the same offset mean the same. Words
// that hold addresses of their own memory rightly differ; the first other word that differs is
// taken for one that depends on addresses. It is never a finding by itself: only effects outside of
// the LP must be equal.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "engine/checker/lp_checker.h"

namespace orrery::checker {
namespace {

constexpr std::size_t kPointerBytes = sizeof(std::uintptr_t);

/// Whether the word is an address in the heap, or right behind an allocation in it.
bool is_within(const memory::LpHeap& heap, const std::byte* word) {
  std::uintptr_t address;
  std::memcpy(&address, word, sizeof address);
  return heap.owns(reinterpret_cast<const void*>(address)) ||
         heap.owns(reinterpret_cast<const void*>(address - 1));
}

/// The place in the twin that corresponds to `place` in the object.
const std::byte* twin_of(const std::byte* place, const LogicalProcessBase* object,
                         const LogicalProcessBase* twin) {
  return reinterpret_cast<const std::byte*>(twin) +
         (place - reinterpret_cast<const std::byte*>(object));
}

}  // namespace

void LpChecker::find_object(CheckedLp& lp) {
  const auto* const object = reinterpret_cast<const std::byte*>(lp.object);
  lp.memory.live.for_each([&](const Allocation& live) {
    if (!live.covers(object)) return;
    lp.object_at = live.address;
    lp.object_bytes = live.bytes;
  });
}

/// Offset in the LP's object of the first byte that depends on addresses; kNoDifference if none.
std::size_t LpChecker::first_odd_byte(const CheckedLp& lp) const {
  if (lp.object_bytes == 0) return kNoDifference;
  const std::byte* const mine = lp.object_at;
  const std::byte* const twins = twin_of(mine, lp.object, lp.twin);
  for (std::size_t at = 0; at + kPointerBytes <= lp.object_bytes; at += kPointerBytes) {
    if (std::memcmp(mine + at, twins + at, kPointerBytes) == 0) continue;
    if (is_within(lp.memory.heap, mine + at) && is_within(lp.twin_heap, twins + at)) continue;
    // The twin's uninitialised memory has the pattern of world 1.
    for (std::size_t i = at; i < at + kPointerBytes; ++i)
      if (mine[i] != twins[i] && (lp.world == 1 || !follows(mine[i], twins[i]))) return i;
  }
  return kNoDifference;
}

/// Called after a job without a finding: notes a byte that depends on addresses, for a later
/// finding.
void LpChecker::note_odd_byte(const Job& job) {
  CheckedLp& lp = lps_[job.lp];
  if (job.kind == Job::Kind::create) find_object(lp);
  if (lp.odd_at != kNoDifference || job.kind == Job::Kind::finish) return;
  lp.odd_at = first_odd_byte(lp);
  if (lp.odd_at != kNoDifference)
    lp.odd_since =
        job.kind == Job::Kind::create
            ? "since it was made"
            : fmt::format("since {} at {}",
                          job.kind == Job::Kind::start ? "start()" : "event " + name_of(job),
                          time_text(model_, job.key.time()));
}

/// "; the LP's object (Desk) + 40 holds 2a where it is and 17 in the twin, since event Step at 3
/// s".
std::string LpChecker::odd_byte_text(const CheckedLp& lp) const {
  const std::size_t at = first_odd_byte(lp);
  if (at == kNoDifference) return "";
  const std::byte* const mine = lp.object_at;
  const std::byte* const twins = twin_of(mine, lp.object, lp.twin);
  const std::size_t end =
      std::min(lp.object_bytes, at / kPointerBytes * kPointerBytes + kPointerBytes);
  return fmt::format("; {} holds {} where it is and {} in the twin{}", address_text(lp, mine + at),
                     hex_text(mine, end, at), hex_text(twins, end, at),
                     at == lp.odd_at ? ", " + lp.odd_since : "");
}

}  // namespace orrery::checker
