// SPDX-License-Identifier: Apache-2.0
//
// The ways in which the checker brings an LP back to where it was before an event: one for each
// checkpoint strategy, taken in turn. Whatever a way does, the checker compares what comes out with
// an image of its own, byte for byte, so a strategy that restores too little, or a model's reverse
// handler that undoes too little, is found at the first event that shows it.
//
// To add a strategy: derive from Rollback, and add a line to `make_rollbacks`.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "checkpoint/incremental.h"
#include "checkpoint/undo_log.h"
#include "core/event_header.h"
#include "memory/lp_heap.h"
#include "orrery/logical_process.h"

namespace orrery::checker {

/// An LP as a strategy sees it, before an event and after.
struct RollbackTarget {
  memory::LpHeap& heap;
  checkpoint::KernelState& kernel;
  LogicalProcessBase* object;  ///< nullptr before it is made
  const EventHeader* event;    ///< the one in question; nullptr: creation, start or finish
  const void* payload;
  bool failed = false;  ///< on restore: the handler ended by an exception
  /// Runs model code on the LP, in application mode and under the checker's guard.
  std::function<void(const std::function<void()>&)> run;
};

class Rollback {
 public:
  virtual ~Rollback() = default;
  virtual std::string_view name() const = 0;
  /// Whether it can bring back an LP from what the target is about to do.
  virtual bool serves(const RollbackTarget&) const { return true; }
  /// Before the handler runs.
  virtual void take(const RollbackTarget& target) = 0;
  /// After it: memory and kernel state as they were at `take`, which is used up.
  virtual void restore(const RollbackTarget& target) = 0;
  /// Where the handler leaves what its reverse needs; nullptr if there is no use for it.
  virtual checkpoint::UndoLog* undo_log() { return nullptr; }
  /// What to say when it did not restore the LP.
  virtual std::string_view hint() const { return ""; }
};

/// An image of all live memory.
class CopyRollback final : public Rollback {
 public:
  std::string_view name() const override { return "copy"; }
  void take(const RollbackTarget& target) override {
    image_.resize(target.heap.image_bytes());
    target.heap.save(image_.data());
    kernel_ = target.kernel;
  }
  void restore(const RollbackTarget& target) override {
    target.heap.restore(image_.data());
    target.kernel = kernel_;
  }

 private:
  std::vector<std::byte> image_;
  checkpoint::KernelState kernel_;
};

/// What changed since a shadow was made, once as a way back from a newer delta, then from what the
/// kernel tracked.
class IncrementalRollback final : public Rollback {
 public:
  std::string_view name() const override { return "incremental"; }
  void take(const RollbackTarget& target) override;
  void restore(const RollbackTarget& target) override;

 private:
  checkpoint::PageTracker tracker_;
  std::unique_ptr<checkpoint::Shadow> shadow_;
  std::vector<std::byte> layout_, back_;
  checkpoint::KernelState kernel_;
};

/// The model's reverse handler; after an exception, which no handler can reverse, an image.
class ReverseRollback final : public Rollback {
 public:
  std::string_view name() const override { return "reverse"; }
  bool serves(const RollbackTarget& target) const override {
    return target.event != nullptr && target.object != nullptr && target.object->reversible();
  }
  void take(const RollbackTarget& target) override;
  void restore(const RollbackTarget& target) override;
  checkpoint::UndoLog* undo_log() override { return &log_; }
  std::string_view hint() const override {
    return "; its reverse handler must bring every member back to the value it had, and free what "
           "the handler allocated";
  }

 private:
  CopyRollback image_;
  checkpoint::UndoLog log_;
  std::vector<std::byte> record_;
  checkpoint::KernelState kernel_;
  bool had_metrics_ = false;
};

/// What a checker runs with: the ways of single rollbacks, and how many events a rollback over
/// several of them takes back.
struct RollbackPlan {
  /// The way for the i-th rollback: all in turn, the first where another does not serve.
  Rollback& choose(std::uint64_t i, const RollbackTarget& target) {
    std::size_t way = i % ways.size();
    if (!ways[way]->serves(target)) way = 0;
    served.resize(ways.size());
    served[way] = true;
    return *ways[way];
  }

  std::vector<std::unique_ptr<Rollback>> ways;
  std::vector<bool> served;                     ///< which of them took part
  unsigned fewest_events = 0, most_events = 0;  ///< 0: no rollbacks over several events

  std::string names() const {
    std::string text;
    for (std::size_t i = 0; i < ways.size(); ++i) {
      if (i < served.size() && served[i])
        text += (text.empty() ? "" : ", ") + std::string(ways[i]->name());
    }
    return most_events > 0 ? text + ", periodic" : text;
  }
};

/// `--checkpoint`: "auto" is all in turn; "copy", "incremental" and "reverse" are single rollbacks
/// of that kind only, "periodic:N" rollbacks over N events too. Throws UsageError for other names.
RollbackPlan make_rollbacks(std::string_view checkpoint);

}  // namespace orrery::checker
