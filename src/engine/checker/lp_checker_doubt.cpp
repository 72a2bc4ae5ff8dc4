// SPDX-License-Identifier: Apache-2.0
//
// LpChecker: doubts (doubt.h), bytes whose bits two worlds cannot prove to be uninitialised and
// only carried along: finding them, and settling them by more executions.
//
// Settled doubts are kept for each LP as long as their bytes do not change, so that a
// std::vector<bool> costs more executions only when other bits of it become uninitialised.
#include <algorithm>
#include <cstring>

#include "engine/checker/lp_checker.h"

namespace orrery::checker {
namespace {

/// More doubts cannot come from bit-fields: then the first one is reported as a difference.
constexpr std::size_t kMostDoubts = 65536;

/// Makes the image of world `world` from the images `in0` and `in1` of worlds 0 and 1.
void make_probe(std::byte* probe, const std::byte* in0, const std::byte* in1, std::size_t bytes,
                WorldIndex world) {
  for (std::size_t i = 0; i < bytes; ++i) probe[i] = carried_to(world, in0[i], in1[i]);
}

}  // namespace

/// Puts bytes that differ between the worlds into `doubts_`, those settled before into `settled_`.
/// False: there are too many, or one is in the header that the platform keeps in the image.
bool LpChecker::find_doubts(const CheckedLp& lp, const std::byte* in0, const std::byte* in1,
                            std::size_t bytes) {
  const std::size_t first = doubts_.size();
  for_each_difference(in0, in1, bytes, [&](std::size_t at) {
    doubts_.push_back({Doubt::kMemory, at, in0[at], in1[at]});
    return doubts_.size() - first <= kMostDoubts;
  });
  if (doubts_.size() == first) return true;
  const std::size_t header = bytes - lp.memory.heap.live_bytes();
  if (doubts_.size() - first > kMostDoubts || doubts_[first].at < header) return false;
  std::size_t passed = header, next = first;
  lp.memory.heap.for_each_live([&](const std::byte* begin, std::size_t size, std::size_t) {
    for (; next < doubts_.size() && doubts_[next].at < passed + size; ++next)
      doubts_[next].address = begin + (doubts_[next].at - passed);
    passed += size;
  });
  const auto by_address = [](const Doubt& a, const Doubt& b) { return a.address < b.address; };
  const auto is_known = [&](const Doubt& doubt) {
    const auto [known, end] =
        std::equal_range(lp.settled.begin(), lp.settled.end(), doubt, by_address);
    return known != end && doubt.is_rest_of(*known);
  };
  const auto begin = doubts_.begin() + static_cast<std::ptrdiff_t>(first);
  const auto unknown = std::stable_partition(begin, doubts_.end(), is_known);
  settled_.assign(begin, unknown);
  doubts_.erase(begin, unknown);
  std::sort(settled_.begin(), settled_.end(), by_address);
  return true;
}

/// Executes the event in more worlds. Returns the first difference that is not one of uninitialised
/// bits, if any. The heap is as the second execution has left it, before and after this call.
Difference LpChecker::settle_doubts(const Job& job) {
  CheckedLp& lp = lps_[job.lp];
  Guard::undo(lp.memory, second_.steps);
  go_to(lp, second_.world, lp.other);
  const auto impossible = std::find_if(doubts_.begin(), doubts_.end(), [&](const Doubt& doubt) {
    return !may_be_carried(lp, doubt);
  });
  std::size_t wrong = static_cast<std::size_t>(impossible - doubts_.begin());
  for (WorldIndex probe = kFirstProbe; probe < kProbesEnd && wrong == doubts_.size(); ++probe)
    wrong = first_not_carried(job, probe);
  go_to(lp, second_.world, second_.image);
  Guard::redo(lp.memory, second_.steps);
  if (wrong < doubts_.size()) {
    const Doubt& doubt = doubts_[wrong];
    if (doubt.send == Doubt::kMemory)
      return memory_difference(lp, first_.image, second_.image, doubt.at, {});
    Difference difference;
    difference.add(payload_text(names_, first_, second_, {}, doubt.send, doubt.at), true);
    return difference;
  }
  for (const Doubt& doubt : doubts_)
    if (doubt.send == Doubt::kMemory) settled_.push_back(doubt);
  std::sort(settled_.begin(), settled_.end(),
            [](const Doubt& a, const Doubt& b) { return a.address < b.address; });
  return {};
}

/// Whether the doubt's bits can be uninitialised: they hold the patterns, or they were
/// uninitialised before the event, so that other values may have come from them. The LP's memory is
/// as before the event.
bool LpChecker::may_be_carried(const CheckedLp& lp, const Doubt& doubt) const {
  if (follows(doubt.in0, doubt.in1)) return true;
  if (doubt.send != Doubt::kMemory) return false;
  const bool is_new =
      std::any_of(second_.steps.begin(), second_.steps.end(), [&](const AllocationStep& step) {
        return step.allocates && step.allocation.covers(doubt.address);
      });
  if (is_new) return true;
  std::size_t at = before_.size() - lp.memory.heap.live_bytes();
  bool carried = false;
  lp.memory.heap.for_each_live([&](const std::byte* begin, std::size_t size, std::size_t) {
    if (doubt.address >= begin && doubt.address < begin + size) {
      const std::size_t here = at + static_cast<std::size_t>(doubt.address - begin);
      carried = (doubt.bits() & ~(before_[here] ^ lp.other[here])) == std::byte{};
    }
    at += size;
  });
  return carried;
}

/// Executes the event in world `probe`. Returns the index of the first doubt whose bits do not
/// follow that world's pattern; the number of doubts if all do.
std::size_t LpChecker::first_not_carried(const Job& job, WorldIndex probe) {
  CheckedLp& lp = lps_[job.lp];
  const auto& in0 = first_.world == 0 ? before_ : lp.other;
  const auto& in1 = first_.world == 0 ? lp.other : before_;
  scratch_.resize(in0.size());
  make_probe(scratch_.data(), in0.data(), in1.data(), in0.size(), probe);
  go_to(lp, probe, scratch_);
  execute(job, probe, probe, more_);
  save(lp.memory.heap, more_.image);
  Guard::undo(lp.memory, more_.steps);
  const bool same = more_.image.size() == second_.image.size() &&
                    compare_effects(names_, second_, more_, Versus::twin).empty();
  if (!same) return 0;
  const auto follows_probe = [&](const Doubt& doubt) {
    const std::byte* const bytes = doubt.send == Doubt::kMemory
                                       ? more_.image.data()
                                       : more_.payload_of(more_.sends[doubt.send]);
    return bytes[doubt.at] == carried_to(probe, doubt.in0, doubt.in1);
  };
  return static_cast<std::size_t>(std::find_if_not(doubts_.begin(), doubts_.end(), follows_probe) -
                                  doubts_.begin());
}

const void* LpChecker::payload_in(CheckedEvent& event, WorldIndex world) {
  if (world <= kTwin || event.stride == 0) return event.payload(std::min(world, kTwin));
  const std::size_t bytes = event.size.bytes();
  probe_payload_.resize((bytes + 7) / 8);
  auto* const probe = reinterpret_cast<std::byte*>(probe_payload_.data());
  make_probe(probe, event.payload(0), event.payload(1), bytes, world);
  return probe;
}

}  // namespace orrery::checker
