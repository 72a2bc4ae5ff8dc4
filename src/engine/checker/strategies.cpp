// SPDX-License-Identifier: Apache-2.0
#include "engine/checker/strategies.h"

#include <charconv>

#include "memory/region.h"
#include "orrery/error.h"

namespace orrery::checker {
namespace {

using checkpoint::Kind;
using checkpoint::Strategy;

// A rollback over several events keeps that many executions. More than kMostEvents find nothing
// new.
constexpr unsigned kFewestEvents = 2, kMostEvents = 8, kMostWanted = 64;
constexpr std::string_view kPeriodic = "periodic:";

unsigned events_of(std::string_view text) {
  unsigned events = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, events);
  return error == std::errc{} && stop == end ? events : 0;
}

}  // namespace

// ---- One strategy

RollbackStrategy::~RollbackStrategy() {
  checkpoint::release_all(pool_, single_.checkpoints);
  if (single_.record != nullptr) checkpoint::release_all(pool_, single_.record->reversals);
}

bool RollbackStrategy::serves(const LogicalProcessBase* object, bool event) const {
  if (single_.record == nullptr) return true;
  // A record belongs to an LP; before create() there is none.
  if (object == nullptr) return false;
  return kind() != Kind::reverse || (event && object->reversible());
}

std::string_view RollbackStrategy::hint() const {
  return kind() != Kind::reverse
             ? ""
             : "; its reverse handler must bring every member back to the value it had, and free "
               "what the handler allocated";
}

RollbackHistory RollbackStrategy::make_history(std::uint32_t interval) const {
  RollbackHistory history;
  history.interval = interval;
  if (strategy_.name != Strategy::Name::copy) {
    history.record = std::make_unique<checkpoint::CheckpointRecord>(
        checkpoint::Tuning(kind(), checkpoint::Interval::fixed(interval)));
  }
  return history;
}

bool RollbackStrategy::before_event(const Lp& lp, std::uint32_t ordinal) {
  if (lp.history.record != nullptr) return checkpointer_.before_event(view_of(lp), ordinal);
  const checkpoint::Checkpoint* const newest = lp.history.checkpoints;
  if (newest == nullptr || checkpoint::difference(ordinal, newest->ordinal) >=
                               static_cast<std::int32_t>(lp.history.interval))
    take_small(lp, ordinal);
  return false;
}

void RollbackStrategy::after_event(const Lp& lp, std::uint32_t ordinal, bool succeeded) {
  if (lp.history.record != nullptr) checkpointer_.after_event(view_of(lp), ordinal, succeeded);
}

void RollbackStrategy::before_repetition(const Lp& lp, std::uint32_t ordinal) {
  checkpoint::UndoLog log = std::move(undo_log());
  before_event(lp, ordinal);
  undo_log() = std::move(log);
}

void RollbackStrategy::commit(const Lp& lp, std::uint32_t ordinal) {
  if (lp.history.record != nullptr) {
    checkpointer_.commit(view_of(lp), ordinal);
    return;
  }
  checkpoint::Checkpoint* const base = checkpoint::base_for(lp.history.checkpoints, ordinal);
  checkpoint::release_all(pool_, std::exchange(base->older, nullptr));
}

void RollbackStrategy::release(const Lp& lp) {
  if (lp.history.record != nullptr) {
    checkpointer_.release_all(view_of(lp));
  } else {
    checkpoint::release_all(pool_, std::exchange(lp.history.checkpoints, nullptr));
  }
}

void RollbackStrategy::take_small(const Lp& lp, std::uint32_t ordinal) {
  RollbackHistory& history = lp.history;
  history.one_chunk =
      lp.object != nullptr && lp.heap.single_chunk() && memory::chunk_bytes_at(lp.object) > 0;
  history.checkpoints =
      history.one_chunk
          ? checkpoint::take_single(pool_, lp.object, memory::chunk_bytes_of(lp.object), lp.kernel,
                                    ordinal, history.checkpoints)
          : checkpoint::take(pool_, lp.heap, lp.kernel, ordinal, history.checkpoints,
                             checkpointer_.writing());
  ++small_copies_;
}

std::uint32_t RollbackStrategy::restore_small(const Lp& lp, std::uint32_t target) {
  RollbackHistory& history = lp.history;
  while (checkpoint::difference(history.checkpoints->ordinal, target) > 0)
    checkpoint::release(pool_, std::exchange(history.checkpoints, history.checkpoints->older));
  // A heap that has grown never becomes one chunk again.
  if (history.one_chunk && lp.heap.single_chunk()) {
    memory::LpHeap::restore_single(lp.object, memory::chunk_bytes_of(lp.object),
                                   history.checkpoints->image());
  } else {
    lp.heap.restore(history.checkpoints->image());
  }
  lp.kernel = history.checkpoints->kernel;
  return history.checkpoints->ordinal;
}

// ---- The plan

RollbackPlan::RollbackPlan(std::string_view checkpoint, memory::BlockPool& pool) : pool_(pool) {
  add("copy", {Strategy::Name::copy});
  if (checkpoint == "copy") return;
  if (checkpoint == "incremental") {
    add("incremental", {Strategy::Name::incremental});
    first_ = 1;
    return;
  }
  if (checkpoint == "reverse") {  // the copy serves where there is no reverse handler
    add("reverse", {Strategy::Name::reverse});
    return;
  }
  if (checkpoint == "auto" || checkpoint == "adaptive") {
    add("incremental", {Strategy::Name::incremental});
    add("reverse", {Strategy::Name::reverse});
    add("periodic", {Strategy::Name::periodic, 1});
    fewest_events_ = kFewestEvents;
    most_events_ = kMostEvents;
    return;
  }
  const unsigned events =
      checkpoint.starts_with(kPeriodic) ? events_of(checkpoint.substr(kPeriodic.size())) : 0;
  if (events < 1 || events > kMostWanted) {
    throw UsageError("the checker does not know the checkpoint strategy '" +
                     std::string(checkpoint) +
                     "'; it checks auto (all in turn), adaptive, copy, "
                     "incremental, reverse, and periodic:N with N from 1 to " +
                     std::to_string(kMostWanted));
  }
  add("periodic", {Strategy::Name::periodic, events});
  fewest_events_ = most_events_ = events;
}

void RollbackPlan::add(std::string_view name, checkpoint::Strategy strategy) {
  strategies_.push_back(std::make_unique<RollbackStrategy>(pool_, name, strategy, tracker_));
  served_.push_back(false);
}

RollbackStrategy& RollbackPlan::choose(std::uint32_t turn, const LogicalProcessBase* object,
                                       bool event) {
  std::size_t chosen = first_ + turn % (strategies_.size() - first_);
  if (!strategies_[chosen]->serves(object, event)) chosen = 0;
  served_[chosen] = true;
  return *strategies_[chosen];
}

std::string RollbackPlan::names() const {
  std::string text;
  for (std::size_t i = first_; i < strategies_.size(); ++i)
    if (served_[i]) text += (text.empty() ? "" : ", ") + std::string(strategies_[i]->name());
  return text;
}

checkpoint::Checkpointer::Statistics RollbackPlan::statistics() const {
  checkpoint::Checkpointer::Statistics sum;
  for (const auto& strategy : strategies_)
    merge_counters(checkpoint::Checkpointer::kCounters, sum, strategy->statistics());
  return sum;
}

std::uint64_t RollbackPlan::small_copies() const {
  std::uint64_t copies = 0;
  for (const auto& strategy : strategies_) copies += strategy->small_copies();
  return copies;
}

std::size_t RollbackPlan::bytes() const {
  std::size_t bytes = 0;
  for (const auto& strategy : strategies_) bytes += strategy->bytes();
  return bytes;
}

}  // namespace orrery::checker
