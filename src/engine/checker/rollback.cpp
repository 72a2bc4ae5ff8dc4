// SPDX-License-Identifier: Apache-2.0
#include "engine/checker/rollback.h"

#include <charconv>
#include <string>

#include "core/logical_process_access.h"
#include "orrery/error.h"

namespace orrery::checker {
namespace {

// Rollbacks over several events keep as many executions; more than these find nothing new.
constexpr unsigned kFewestEvents = 2, kMostEvents = 8, kMostWanted = 64;
constexpr std::string_view kPeriodic = "periodic:";

unsigned events_of(std::string_view text) {
  unsigned events = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, events);
  return error == std::errc{} && stop == end ? events : 0;
}

}  // namespace

void IncrementalRollback::take(const RollbackTarget& target) {
  shadow_ = std::make_unique<checkpoint::Shadow>(tracker_);
  shadow_->follow(target.heap, nullptr);
  layout_.resize(target.heap.layout_bytes());
  target.heap.save_layout(layout_.data());
  kernel_ = target.kernel;
}

void IncrementalRollback::restore(const RollbackTarget& target) {
  // To a newer delta and back: runs that the event added take part in it.
  back_.clear();
  shadow_->follow(target.heap, &back_);
  shadow_->go_back(back_.data(), back_.size());
  shadow_->restore();
  target.heap.restore_layout(layout_.data());
  target.kernel = kernel_;
}

void ReverseRollback::take(const RollbackTarget& target) {
  image_.take(target);
  log_.clear();
  kernel_ = target.kernel;
  had_metrics_ = LogicalProcessAccess::metrics(*target.object) != nullptr;
}

void ReverseRollback::restore(const RollbackTarget& target) {
  if (target.failed) return image_.restore(target);
  record_.resize(log_.record_bytes());
  log_.write(record_.data());
  checkpoint::UndoLog::restore_images(record_.data(), record_.size());
  target.run([&] {
    checkpoint::Reversal reversal(target.event->time(), target.event->receiver,
                                  checkpoint::UndoLog::values_of(record_.data()));
    target.object->dispatch_reverse(reversal, target.event->type, target.payload);
    // The platform's own: made by the first record(), which this may have been.
    if (!had_metrics_) LogicalProcessAccess::drop_metrics(*target.object);
  });
  target.kernel = kernel_;
}

RollbackPlan make_rollbacks(std::string_view checkpoint) {
  RollbackPlan plan;
  if (checkpoint == "incremental") {
    plan.ways.push_back(std::make_unique<IncrementalRollback>());
    return plan;
  }
  plan.ways.push_back(std::make_unique<CopyRollback>());
  if (checkpoint == "copy") return plan;
  if (checkpoint == "reverse") {  // the copy serves where no handler can
    plan.ways.push_back(std::make_unique<ReverseRollback>());
    return plan;
  }
  if (checkpoint == "auto" || checkpoint == "adaptive") {
    plan.ways.push_back(std::make_unique<IncrementalRollback>());
    plan.ways.push_back(std::make_unique<ReverseRollback>());
    plan.fewest_events = kFewestEvents;
    plan.most_events = kMostEvents;
    return plan;
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
  plan.fewest_events = plan.most_events = events;
  return plan;
}

}  // namespace orrery::checker
