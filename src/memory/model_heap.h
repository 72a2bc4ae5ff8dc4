// SPDX-License-Identifier: Apache-2.0
//
// A heap for the model itself: its object, what its parameters hold, and the tables that prepare()
// builds. LPs point into all of these, so a state that is to live in another process needs them at
// the same addresses there. The heap is the first to take memory of the region (region.h), and
// which address an allocation gets depends on what is live, so a process that makes and prepares
// the same model gets the same addresses; whoever resumes a run compares (snapshot/). That holds
// for one thread: the model sees one processor here (interpose_threads.cpp).
//
// Only runs that may leave their process have one; else models lie in ordinary memory. It belongs
// to the process, as the region does, and never ends: what a library allocated while model code
// ran may be used as late as at exit.
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
  unsigned threads_started = 0;  // by model code while it was here (interpose_threads.cpp)
};

// From now on models of this process lie on a heap of their own. Before any other memory of the
// region is taken, by the only thread.
ModelHeap& start_model_heap();
// nullptr: they lie in ordinary memory.
ModelHeap* model_heap() noexcept;

// Around code of the model that belongs to no LP and may change the model. By one thread at a time.
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
