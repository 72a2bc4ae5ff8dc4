// SPDX-License-Identifier: Apache-2.0
//
// How an engine with one thread calls the handlers of LPs: in ordinary memory, or in the mode of
// each LP's heap (memory/lp_heap.h). The choice is a template argument of the engine, since
// ordinary memory must cost nothing, and heaps only a few instructions an event: the address of the
// heap, the store that enters its mode, the store that leaves it, and a test of the misuse note.
//
// Interface of such a memory:
//   Record              of an LP in the world's table
//   call(lp, action)    calls the LP's code; throws its exceptions, and for misuse of its memory
//   Platform            the mode of platform code within such a call that may allocate, for
//                       OutboxModes
//   look_ahead()        for LookAhead::step: prefetches the data of malloc and free of later events
//   report(result)      adds statistics and notes at the end
//
// A failed call leaves application mode before its exception is handled. Heap memory of the
// exception then stays allocated as long as the heap, which does no harm, since the run ends with
// the exception. But the exception must not outlive the run: code that passes it on throws a copy.
#pragma once

#include <algorithm>
#include <string>
#include <utility>

#include "memory/application_mode.h"
#include "memory/library_state.h"
#include "run/containment/guarded_call.h"
#include "run/engine.h"
#include "run/execution/outbox_modes.h"
#include "run/loop/look_ahead.h"
#include "run/world/refusals.h"
#include "run/world/world.h"

namespace orrery {

/// Ordinary memory of the process.
class OrdinaryMemory {
 public:
  using Record = LpEntry;
  using Platform = HandlersMode;

  explicit OrdinaryMemory(World&) {}
  OrdinaryMemory(const OrdinaryMemory&) = delete;
  OrdinaryMemory& operator=(const OrdinaryMemory&) = delete;
  template <class Action>
  [[gnu::always_inline]] void call(LpId, Action&& action) const {
    action();
  }
  static NothingElse look_ahead() { return {}; }
  void report(RunResult&) const {}

 private:
  const OrdinaryCalls calls_;
};

/// The heaps of a world. Used by one thread, in platform mode. Only this thread executes, so each
/// LP takes more memory from the arena that it is bound to.
class HeapMemory {
 public:
  using Record = LpTable::Line;
  using Platform = memory::PlatformMode;

  explicit HeapMemory(World& world) : world_(world), limit_(world.denies_oversize()) {
    memory::prepare_worker_thread();
    memory::thread_context.heap_grew = some_have_tables();
  }
  HeapMemory(const HeapMemory&) = delete;
  HeapMemory& operator=(const HeapMemory&) = delete;
  ~HeapMemory() { heap_misuse() = note_before_; }

  template <class Action>
  [[gnu::always_inline]] void call(LpId id, Action&& action) {
    const Application application(world_.heap(id));
    action();
    heap_misuse().raise();
  }
  /// Events do not touch a heap with one object only, so prefetching begins with the first larger
  /// heap.
  struct Heaps {
    World& world;

    static bool have_tables() { return memory::thread_context.heap_grew; }
    void ask_soon(LpId id) const {
      if (have_tables()) world.heap(id).prefetch();
    }
    void ask_later(LpId id) const {
      if (have_tables()) world.heap(id).prefetch_table();
    }
  };
  Heaps look_ahead() const { return {world_}; }
  void report(RunResult& result) const {
    double taken = 0;
    for (unsigned part = 0; part < world_.parts(); ++part)
      taken += static_cast<double>(world_.arena(part).taken_bytes());
    result.statistics.push_back({"lp_memory", "B", "largest memory for LPs", taken});
    if (std::string note = refusals_.note(world_.denies_oversize()); !note.empty())
      result.notes.push_back(std::move(note));
  }

 private:
  /// For a world that was begun elsewhere; looks at some LPs.
  bool some_have_tables() const {
    const LpId some = std::min<LpId>(world_.lp_count(), 1024);
    for (LpId id = 0; id < some; ++id)
      if (world_.heap(id).run_count() > 1) return true;
    return false;
  }

  /// As memory::ApplicationMode, for calls from platform mode only: the mode before need not be
  /// stored.
  class Application {
   public:
    explicit Application(memory::LpHeap& heap) { memory::enter_application_mode(heap); }
    ~Application() { memory::leave_application_mode(); }
    Application(const Application&) = delete;
    Application& operator=(const Application&) = delete;
  };

  World& world_;
  const MisuseWatch watch_;
  const HeapMisuseNote note_before_ = std::exchange(heap_misuse(), {});
  const Refusals refusals_;
  const OversizeLimit limit_;
};

}  // namespace orrery
