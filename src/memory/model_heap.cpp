// SPDX-License-Identifier: Apache-2.0
#include "memory/model_heap.h"

#include <cstddef>
#include <new>

#include "core/assert.h"
#include "memory/library_state.h"

namespace orrery::memory {
namespace {

ModelHeap* the_model_heap = nullptr;  // written before other threads start

}  // namespace

ModelHeap& start_model_heap() {
  const PlatformMode platform;
  ORRERY_ASSERT(the_model_heap == nullptr, "a process has one");
  prepare_library_state();
  // In storage of its own, so that no destructor runs at exit.
  alignas(ModelHeap) static std::byte storage[sizeof(ModelHeap)];
  the_model_heap = new (storage) ModelHeap;
  return *the_model_heap;
}

ModelHeap* model_heap() noexcept {
  return the_model_heap;
}

}  // namespace orrery::memory
