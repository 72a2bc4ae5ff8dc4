// SPDX-License-Identifier: Apache-2.0
//
// Threads that a model starts while it is prepared, in a run that is to leave its process. Where
// memory lies must then depend on nothing but the model (model_heap.h), and with threads it depends
// on who comes first. So there the system has one processor, as far as the model can see: who asks,
// as std::thread::hardware_concurrency() does, starts no others. Threads that are started all the
// same are counted, so that the run can be refused.
//
// Linked as an object into executables, like interpose.cpp and for the same reason. Sanitizers wrap
// pthread_create themselves, and with them nothing is counted.
#include <pthread.h>

#include <atomic>

#include "memory/model_heap.h"
#include "memory/next_definition.h"

namespace {

using orrery::memory::ModelHeap;

__attribute__((no_sanitize("address,thread,undefined"))) ModelHeap* heap_of_model_code() noexcept {
  ModelHeap* const model = orrery::memory::model_heap();
  return model != nullptr && orrery::memory::running_heap() == &model->heap ? model : nullptr;
}

}  // namespace

#define ORRERY_EXPORT \
  extern "C" __attribute__((visibility("default"), no_sanitize("address,thread,undefined")))

ORRERY_EXPORT int get_nprocs() noexcept {
  static constinit std::atomic<int (*)()> known{nullptr};
  if (heap_of_model_code() != nullptr) return 1;
  return orrery::memory::next_definition(known, "get_nprocs")();
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
ORRERY_EXPORT int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                                 void* (*work)(void*), void* argument) noexcept {
  using Function = int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static constinit std::atomic<Function*> known{nullptr};
  if (ModelHeap* const model = heap_of_model_code()) ++model->threads_started;
  return orrery::memory::next_definition(known, "pthread_create")(thread, attributes, work,
                                                                  argument);
}
#endif
