// SPDX-License-Identifier: Apache-2.0
//
// What a thread needs while it calls handlers, in one object: the stack and the signals by which
// crashes and long calls are found, the notes of misused and refused memory, and the mode of LPs
// in ordinary memory.
#pragma once

#include <string>

#include "memory/library_state.h"
#include "run/containment/activity.h"
#include "run/containment/guarded_call.h"
#include "run/engine.h"
#include "run/world/refusals.h"
#include "run/world/world.h"

namespace orrery {

/// Lives on the thread's stack, around all calls of handlers.
class HandlerThread {
 public:
  /// `handlers`: what the thread executes, until ThreadWatch::turn_to names another execution.
  /// `speculative`: handlers may see states that never commit.
  HandlerThread(const World& world, RunControl& control, const HandlerExecution& handlers,
                bool speculative = false)
      : denies_oversize_(world.denies_oversize()),
        watched_(prepare(world, control), world.model(), handlers, speculative),
        ordinary_(!world.on_heaps()),
        limit_(denies_oversize_) {}
  HandlerThread(const HandlerThread&) = delete;
  HandlerThread& operator=(const HandlerThread&) = delete;

  /// A note for the result on memory that LPs were refused; empty if nothing was refused.
  std::string note() const { return refusals_.note(denies_oversize_); }

 private:
  static WatchedThreads& prepare(const World& world, RunControl& control) {
    if (world.on_heaps()) memory::prepare_worker_thread();
    return control.threads;
  }

  const bool denies_oversize_;
  const ThreadWatch watched_;
  const OrdinaryCalls ordinary_;
  const MisuseWatch misuse_;
  const Refusals refusals_;
  const OversizeLimit limit_;
};

}  // namespace orrery
