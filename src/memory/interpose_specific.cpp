// SPDX-License-Identifier: Apache-2.0
//
// Thread-specific data (pthread_key_create and its kin) of model code, which
// std::pmr::synchronized_pool_resource uses: the pools of each thread. In the C library a value
// belongs to the thread, is not rolled back, and its destructor runs when the thread ends, long
// after the LP's memory has gone. To its model, an LP runs on one thread, whichever worker that is:
// so the value of a key that is made in application mode belongs to the LP. It lies in a slot in
// the LP's heap, where it is saved and restored with all the rest; no thread's end concerns it.
//
// A key is a number of 32 bits, so a table of the process leads from it to the slot. There is one
// key for each address that ever held a slot. After a rollback an LP gets the same address and so
// the same key again, nothing has to be taken back, and the table is as small as the LPs' memory.
//
// Keys of the platform mode are the C library's, also when model code uses them; what it allocates
// for their values must not lie in an LP's heap.
//
// Linked as an object into executables, like interpose.cpp and for the same reason. Left out where
// a sanitizer, which uses such keys before it can serve memory, would have to come through here.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

#include <pthread.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <unordered_map>

#include "memory/application_mode.h"
#include "memory/next_definition.h"

namespace orrery::memory {
namespace {

// The C library's keys are below 1024.
constexpr pthread_key_t kLpKey = 0x8000'0000;

struct Slot {
  void* value;
};

class SlotTable {
 public:
  // Never destroyed: threads end at any late hour.
  static SlotTable& instance() {
    static auto& table = *new SlotTable;
    return table;
  }

  // The key of a slot; 0 if there are no more.
  pthread_key_t key_of(Slot* slot) {
    const std::lock_guard lock(mutex_);
    const auto [found, added] = keys_.try_emplace(slot, kLpKey | count_);
    if (!added) return found->second;
    if (count_ == kBlocks * kBlockSlots) {
      keys_.erase(found);
      return 0;
    }
    std::atomic<Block*>& block = blocks_[count_ / kBlockSlots];
    // Release, with the acquire below: whoever finds the block finds it made. Its entries need no
    // order of their own: who has the key has it from whoever was told it, after the entry.
    if (block.load(std::memory_order_relaxed) == nullptr) {
      block.store(new Block{}, std::memory_order_release);
    }
    (*block.load(std::memory_order_relaxed))[count_ % kBlockSlots] = slot;
    ++count_;
    return found->second;
  }
  // nullptr for what is no key.
  Slot* slot_of(pthread_key_t key) const noexcept {
    const std::size_t index = key & ~kLpKey;
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

// In application mode, of whose LP the slot is.
int make_key(pthread_key_t* key) {
  auto* const slot = static_cast<Slot*>(std::malloc(sizeof(Slot)));
  if (slot == nullptr) return ENOMEM;
  slot->value = nullptr;
  pthread_key_t made = 0;
  {
    const PlatformMode platform;
    made = SlotTable::instance().key_of(slot);
  }
  if (made == 0) {
    std::free(slot);
    return EAGAIN;
  }
  *key = made;
  return 0;
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
  specific::Slot* const slot = specific::SlotTable::instance().slot_of(key);
  if (slot == nullptr) return EINVAL;
  std::free(slot);
  return 0;
}

ORRERY_EXPORT void* pthread_getspecific(pthread_key_t key) noexcept {
  static constinit std::atomic<void* (*)(pthread_key_t)> known{nullptr};
  if (key < specific::kLpKey) return specific::next_definition(known, "pthread_getspecific")(key);
  const specific::Slot* const slot = specific::SlotTable::instance().slot_of(key);
  return slot == nullptr ? nullptr : slot->value;
}

ORRERY_EXPORT int pthread_setspecific(pthread_key_t key, const void* value) noexcept {
  static constinit std::atomic<int (*)(pthread_key_t, const void*)> known{nullptr};
  if (key < specific::kLpKey) {
    const specific::PlatformMode platform;
    return specific::next_definition(known, "pthread_setspecific")(key, value);
  }
  specific::Slot* const slot = specific::SlotTable::instance().slot_of(key);
  if (slot == nullptr) return EINVAL;
  slot->value = const_cast<void*>(value);
  return 0;
}

#endif
