// SPDX-License-Identifier: Apache-2.0
//
// Thread-specific data (pthread_key_create and related functions) of model code;
// std::pmr::synchronized_pool_resource uses it for the pools of each thread. In the C library a
// value belongs to the thread and is not rolled back. Its destructor runs when the thread ends,
// long after the LP's memory is gone. For its model, an LP runs on one thread, whichever worker
// that is. So the value of a key made in application mode belongs to the LP: it lies in a slot in
// the LP's heap, is saved and restored with the heap, and no thread's end affects it.
//
// A key is a number of 32 bits that says which chunk of the heap the slot is (lp_heap.h). It means
// the same after a rollback, on another worker and in another process, and needs no table. The heap
// is that of the calling LP, or the model's heap for keys that prepare() made. Heaps of a
// HeapObserver have no chunks, and live and end in one process: their keys are numbers in a table.
//
// Keys made in platform mode are the C library's, also when model code uses them. Memory that the
// library allocates for their values must not lie in an LP's heap.
//
// Linked as an object into executables, like interpose.cpp and for the same reason. Left out in
// sanitized builds: a sanitizer uses such keys before it can serve memory.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

#include <pthread.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <unordered_map>

#include "memory/application_mode.h"
#include "memory/lp_heap.h"
#include "memory/model_heap.h"
#include "memory/next_definition.h"

namespace orrery::memory {
namespace {

// The C library's keys are below 1024. The lowest 29 bits of the platform's keys are the number.
constexpr pthread_key_t kLpKey = 0x8000'0000;
constexpr pthread_key_t kModelKey = 0x4000'0000;     // in the model's heap
constexpr pthread_key_t kObservedKey = 0x2000'0000;  // in the table
constexpr pthread_key_t kNumber = kObservedKey - 1;

struct Slot {
  void* value;
};

// One key for each address that ever held a slot. After a rollback an LP gets the same address and
// so the same key again. Nothing has to be taken back, and the table grows only with the LPs'
// memory.
class SlotTable {
 public:
  // Never destroyed: threads may end after the destructors of statics.
  static SlotTable& instance() {
    static auto& table = *new SlotTable;
    return table;
  }

  // The key of a slot; 0 if no keys are left.
  pthread_key_t key_of(Slot* slot) {
    const std::lock_guard lock(mutex_);
    const auto [found, added] = keys_.try_emplace(slot, kLpKey | kObservedKey | count_);
    if (!added) return found->second;
    if (count_ == kBlocks * kBlockSlots) {
      keys_.erase(found);
      return 0;
    }
    std::atomic<Block*>& block = blocks_[count_ / kBlockSlots];
    // Release, with the acquire below: a thread that finds the block sees it initialised. Its
    // entries need no order of their own: a thread gets a key, directly or not, from the thread
    // that made the entry.
    if (block.load(std::memory_order_relaxed) == nullptr) {
      block.store(new Block{}, std::memory_order_release);
    }
    (*block.load(std::memory_order_relaxed))[count_ % kBlockSlots] = slot;
    ++count_;
    return found->second;
  }
  // nullptr if `key` is no key of this table.
  Slot* slot_of(pthread_key_t key) const noexcept {
    const std::size_t index = key & kNumber;
    if (index >= kBlocks * kBlockSlots) return nullptr;
    const Block* const block = blocks_[index / kBlockSlots].load(std::memory_order_acquire);
    return block == nullptr ? nullptr : (*block)[index % kBlockSlots];
  }

 private:
  static constexpr std::size_t kBlocks = 4096, kBlockSlots = 4096;
  using Block = std::array<Slot*, kBlockSlots>;

  std::mutex mutex_;
  std::unordered_map<Slot*, pthread_key_t> keys_;
  std::array<std::atomic<Block*>, kBlocks> blocks_{};
  pthread_key_t count_ = 0;
};

// The key of a slot in `heap`; 0 if no keys are left.
pthread_key_t key_of(Slot* slot, const LpHeap& heap) {
  const std::uint64_t number = heap.chunk_number(slot);
  if (number == LpHeap::kNoChunk) {
    const PlatformMode platform;
    return SlotTable::instance().key_of(slot);
  }
  if (number > kNumber) return 0;
  const ModelHeap* const model = model_heap();
  const pthread_key_t where = model != nullptr && &heap == &model->heap ? kModelKey : 0;
  return kLpKey | where | static_cast<pthread_key_t>(number);
}

// Called in application mode; the slot belongs to the running LP.
int make_key(pthread_key_t* key) {
  auto* const slot = static_cast<Slot*>(std::malloc(sizeof(Slot)));
  if (slot == nullptr) return ENOMEM;
  slot->value = nullptr;
  const pthread_key_t made = key_of(slot, *running_heap());
  if (made == 0) {
    std::free(slot);
    return EAGAIN;
  }
  *key = made;
  return 0;
}

// nullptr if `key` is no key, or is an LP's key while no LP runs.
Slot* slot_of(pthread_key_t key) noexcept {
  if ((key & kObservedKey) != 0) return SlotTable::instance().slot_of(key);
  const LpHeap* heap = running_heap();
  if ((key & kModelKey) != 0) heap = model_heap() == nullptr ? nullptr : &model_heap()->heap;
  return heap == nullptr ? nullptr : static_cast<Slot*>(heap->live_chunk(key & kNumber));
}

}  // namespace
}  // namespace orrery::memory

namespace specific = orrery::memory;

#define ORRERY_EXPORT extern "C" __attribute__((visibility("default")))

ORRERY_EXPORT int pthread_key_create(pthread_key_t* key, void (*destroy)(void*)) noexcept {
  static constinit std::atomic<int (*)(pthread_key_t*, void (*)(void*))> known{nullptr};
  if (specific::running_heap() != nullptr) return specific::make_key(key);
  return specific::next_definition(known, "pthread_key_create")(key, destroy);
}

ORRERY_EXPORT int pthread_key_delete(pthread_key_t key) noexcept {
  static constinit std::atomic<int (*)(pthread_key_t)> known{nullptr};
  if (key < specific::kLpKey) return specific::next_definition(known, "pthread_key_delete")(key);
  specific::Slot* const slot = specific::slot_of(key);
  if (slot == nullptr) return EINVAL;
  std::free(slot);
  return 0;
}

ORRERY_EXPORT void* pthread_getspecific(pthread_key_t key) noexcept {
  static constinit std::atomic<void* (*)(pthread_key_t)> known{nullptr};
  if (key < specific::kLpKey) return specific::next_definition(known, "pthread_getspecific")(key);
  const specific::Slot* const slot = specific::slot_of(key);
  return slot == nullptr ? nullptr : slot->value;
}

ORRERY_EXPORT int pthread_setspecific(pthread_key_t key, const void* value) noexcept {
  static constinit std::atomic<int (*)(pthread_key_t, const void*)> known{nullptr};
  if (key < specific::kLpKey) {
    const specific::PlatformMode platform;
    return specific::next_definition(known, "pthread_setspecific")(key, value);
  }
  specific::Slot* const slot = specific::slot_of(key);
  if (slot == nullptr) return EINVAL;
  slot->value = const_cast<void*>(value);
  return 0;
}

#endif
