// SPDX-License-Identifier: Apache-2.0
//
// Threads that a model starts while it is prepared, in a run that may leave its process. There the
// place of memory must depend on the model alone (model_heap.h), but with threads it depends on
// which thread is first. So the model sees one processor, and code that asks for the number, as
// std::thread::hardware_concurrency() does, starts no other threads. Threads that are started
// nevertheless are counted, so that the run can be refused.
//
// Linked as an object into executables, like interpose.cpp and for the same reason. Sanitizers wrap
// pthread_create themselves, so sanitized builds count no threads.
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
