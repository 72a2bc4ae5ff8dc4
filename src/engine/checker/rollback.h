// SPDX-License-Identifier: Apache-2.0
//
// The ways in which the checker brings an LP back to where it was before an event: one for each
// checkpoint strategy, taken in turn. Whatever a way does, the checker compares what comes out with
// an image of its own, byte for byte, so a strategy that restores too little, or a model's reverse
// handler that undoes too little, is found at the first event that shows it.
//
// To add a strategy: derive from Rollback, and add a line to `make_rollbacks`.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/checkpoint.h"
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

/// What a checker runs with: the ways of single rollbacks, and how many events a rollback over
/// several of them takes back.
struct RollbackPlan {
  std::vector<std::unique_ptr<Rollback>> ways;
  unsigned fewest_events = 0, most_events = 0;  ///< 0: no rollbacks over several events

  std::string names() const {
    std::string text;
    for (const auto& way : ways) text += (text.empty() ? "" : ", ") + std::string(way->name());
    return most_events > 0 ? text + ", periodic" : text;
  }
};

/// `--checkpoint`: "auto" is all in turn, "copy" single rollbacks only, "periodic:N" rollbacks over
/// N events too. Throws UsageError for other names.
RollbackPlan make_rollbacks(std::string_view checkpoint);

}  // namespace orrery::checker
