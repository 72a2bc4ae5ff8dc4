// SPDX-License-Identifier: Apache-2.0
#include "director/roll.h"

#include <sys/mman.h>

#include <new>

namespace orrery::director {
namespace {

/// A SCHED_IDLE thread keeps its old nice value, so the nice value is set first.
void set_with_nice(pid_t thread, const Scheduling& scheduling) {
  if (scheduling.policy == SCHED_IDLE) {
    Scheduling first = scheduling;
    first.policy = SCHED_BATCH;
    set_scheduling(thread, first);
  }
  set_scheduling(thread, scheduling);
}

}  // namespace

void RollEntry::give_back() const {
  if (birth_of(thread.process, thread.thread) != thread.born) return;
  set_with_nice(thread.thread, before);
  if (cores_changed) sched_setaffinity(thread.thread, sizeof cores_before, &cores_before);
}

Roll::Roll() {
  void* const memory =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  shared_ = static_cast<Shared*>(memory);  // zeros, the initial values of all members
}

Roll::~Roll() {
  munmap(shared_, sizeof(Shared));
}

RollEntry* Roll::add(const ThreadId& thread, const Scheduling& before) {
  for (RollEntry& entry : shared_->entries) {
    if (entry.is_used.load(std::memory_order_relaxed)) continue;
    entry.thread = thread;
    entry.before = before;
    entry.cores_changed = false;
    entry.is_used.store(true, std::memory_order_release);
    return &entry;
  }
  return nullptr;
}

const Scheduling* Roll::of_process(pid_t process) const {
  for (const RollEntry& entry : shared_->entries)
    if (entry.is_used.load(std::memory_order_acquire) && entry.thread.process == process)
      return &entry.before;
  return nullptr;
}

void Roll::give_all_back() const {
  for (const RollEntry& entry : shared_->entries)
    if (entry.is_used.load(std::memory_order_acquire)) entry.give_back();
}

void Roll::give_back_to_children() const {
  pid_t last = 0;
  for (const RollEntry& first : shared_->entries) {
    if (!first.is_used.load(std::memory_order_acquire) || first.thread.process == last) continue;
    last = first.thread.process;
    for (const pid_t thread : threads_of(last)) {
      bool is_known = false;
      for (const RollEntry& entry : shared_->entries)
        is_known |= entry.is_used.load(std::memory_order_acquire) && entry.thread.thread == thread;
      Scheduling now;
      if (!is_known && read_scheduling(thread, now) == 0 && is_directed(now) &&
          !is_directed(first.before))
        set_with_nice(thread, first.before);
    }
  }
}

}  // namespace orrery::director
