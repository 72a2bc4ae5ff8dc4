// SPDX-License-Identifier: Apache-2.0
//
// A heap for the model itself: its object, the memory of its parameters, and the tables that
// prepare() builds. LPs point into all of these, so an LP's state that moves to another process
// needs them at the same addresses there. This heap is the first to take memory of the region
// (region.h), and addresses depend only on the live set. So a process that makes and prepares the
// same model gets the same addresses; code that resumes a run checks this (snapshot/). It holds for
// one thread, so the model sees one processor here (interpose_threads.cpp).
//
// Only runs that may leave their process have a model heap; otherwise models lie in ordinary
// memory. The heap belongs to the process, as the region does, and never ends: memory that a
// library allocated while model code ran may be used as late as at exit.
#ifndef ORRERY_MEMORY_MODEL_HEAP_H
#define ORRERY_MEMORY_MODEL_HEAP_H

#include <optional>

#include "memory/application_mode.h"
#include "memory/arena.h"
#include "memory/lp_heap.h"

namespace orrery::memory {

struct ModelHeap {
  Arena arena;
  LpHeap heap{arena};
  unsigned threads_started = 0;  // by model code in this heap (interpose_threads.cpp)
};

// From now on models of this process lie on their own heap. Call it before any other memory of the
// region is taken, from the only thread.
ModelHeap& start_model_heap();
// nullptr if models lie in ordinary memory.
ModelHeap* model_heap() noexcept;

// A scope for model code that belongs to no LP and may change the model. One thread at a time.
class ModelScope {
 public:
  ModelScope() {
    if (ModelHeap* const model = model_heap()) application_.emplace(model->heap);
  }
  ModelScope(const ModelScope&) = delete;
  ModelScope& operator=(const ModelScope&) = delete;

 private:
  std::optional<ApplicationMode> application_;
};

}  // namespace orrery::memory

#endif  // ORRERY_MEMORY_MODEL_HEAP_H
