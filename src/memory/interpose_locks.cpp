// SPDX-License-Identifier: Apache-2.0
//
// Counts the locks of the C library that model code holds. A handler that holds one is neither
// interrupted nor dropped for a more urgent event (run/containment/preemption.h), since the next
// handler on the thread might want the lock. std::mutex, std::shared_mutex and std::call_once use
// these functions. Locks that a model makes from its own atomics cannot be seen.
#include <pthread.h>
#include <stdio.h>
#include <time.h>

#include <atomic>

#include "memory/application_mode.h"
#include "memory/next_definition.h"

#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)

namespace rt = orrery::memory;

namespace {

/// Counts a lock before it is taken, so that no held lock is ever uncounted.
class Count {
 public:
  Count() noexcept : counts_(rt::running_heap() != nullptr) {
    if (counts_) ++rt::thread_context.locks;
  }
  void take_back() const noexcept {
    if (counts_) --rt::thread_context.locks;
  }
  int keep_if_taken(int result) const noexcept {
    if (result != 0) take_back();
    return result;
  }

 private:
  const bool counts_;
};

void count_unlock() noexcept {
  if (rt::running_heap() != nullptr && rt::thread_context.locks > 0) --rt::thread_context.locks;
}

}  // namespace

#define ORRERY_EXPORT extern "C" __attribute__((visibility("default")))
#define ORRERY_LOCK(name, type)                                  \
  ORRERY_EXPORT int name(type* lock) noexcept {                  \
    static constinit std::atomic<int (*)(type*)> known{nullptr}; \
    auto* const next = rt::next_definition(known, #name);        \
    return Count().keep_if_taken(next(lock));                    \
  }
#define ORRERY_TIMED_LOCK(name, type)                                             \
  ORRERY_EXPORT int name(type* lock, const timespec* until) noexcept {            \
    static constinit std::atomic<int (*)(type*, const timespec*)> known{nullptr}; \
    auto* const next = rt::next_definition(known, #name);                         \
    return Count().keep_if_taken(next(lock, until));                              \
  }
#define ORRERY_CLOCK_LOCK(name, type)                                                        \
  ORRERY_EXPORT int name(type* lock, clockid_t clock, const timespec* until) noexcept {      \
    static constinit std::atomic<int (*)(type*, clockid_t, const timespec*)> known{nullptr}; \
    auto* const next = rt::next_definition(known, #name);                                    \
    return Count().keep_if_taken(next(lock, clock, until));                                  \
  }
#define ORRERY_UNLOCK(name, type)                                \
  ORRERY_EXPORT int name(type* lock) noexcept {                  \
    static constinit std::atomic<int (*)(type*)> known{nullptr}; \
    const int result = rt::next_definition(known, #name)(lock);  \
    count_unlock();                                              \
    return result;                                               \
  }

ORRERY_LOCK(pthread_mutex_lock, pthread_mutex_t)
ORRERY_LOCK(pthread_mutex_trylock, pthread_mutex_t)
ORRERY_TIMED_LOCK(pthread_mutex_timedlock, pthread_mutex_t)
ORRERY_CLOCK_LOCK(pthread_mutex_clocklock, pthread_mutex_t)
ORRERY_UNLOCK(pthread_mutex_unlock, pthread_mutex_t)
ORRERY_LOCK(pthread_rwlock_rdlock, pthread_rwlock_t)
ORRERY_LOCK(pthread_rwlock_tryrdlock, pthread_rwlock_t)
ORRERY_TIMED_LOCK(pthread_rwlock_timedrdlock, pthread_rwlock_t)
ORRERY_CLOCK_LOCK(pthread_rwlock_clockrdlock, pthread_rwlock_t)
ORRERY_LOCK(pthread_rwlock_wrlock, pthread_rwlock_t)
ORRERY_LOCK(pthread_rwlock_trywrlock, pthread_rwlock_t)
ORRERY_TIMED_LOCK(pthread_rwlock_timedwrlock, pthread_rwlock_t)
ORRERY_CLOCK_LOCK(pthread_rwlock_clockwrlock, pthread_rwlock_t)
ORRERY_UNLOCK(pthread_rwlock_unlock, pthread_rwlock_t)
ORRERY_LOCK(pthread_spin_lock, pthread_spinlock_t)
ORRERY_LOCK(pthread_spin_trylock, pthread_spinlock_t)
ORRERY_UNLOCK(pthread_spin_unlock, pthread_spinlock_t)

ORRERY_EXPORT void flockfile(FILE* stream) noexcept {
  static constinit std::atomic<void (*)(FILE*)> known{nullptr};
  auto* const next = rt::next_definition(known, "flockfile");
  [[maybe_unused]] const Count count;
  next(stream);
}
ORRERY_LOCK(ftrylockfile, FILE)
ORRERY_EXPORT void funlockfile(FILE* stream) noexcept {
  static constinit std::atomic<void (*)(FILE*)> known{nullptr};
  rt::next_definition(known, "funlockfile")(stream);
  count_unlock();
}

/// The routine may throw; then pthread_once has not run it.
ORRERY_EXPORT int pthread_once(pthread_once_t* once, void (*routine)()) {
  static constinit std::atomic<int (*)(pthread_once_t*, void (*)())> known{nullptr};
  struct Counted {
    ~Counted() { count.take_back(); }
    const Count count;
  } const counted;
  return rt::next_definition(known, "pthread_once")(once, routine);
}

#endif
