// SPDX-License-Identifier: Apache-2.0
//
// The sequential engine: one pending event set, one loop. It is the yardstick of all others, so it
// does nothing that a hand-written simulator would not: an event is one node of 32 bytes and its
// payload, taken from a free list; the pending set holds 16-byte entries; an LP's kernel state is
// 32 bytes; the only indirect calls are the model's handler and its sends. LPs live in ordinary
// memory: nothing is ever rolled back.
#include <memory>
#include <new>
#include <vector>

#include "core/kernel_state.h"
#include "pending/registry.h"
#include "run/clock.h"
#include "run/engine.h"
#include "run/event_pool.h"
#include "run/execution.h"
#include "run/finish.h"
#include "run/model_checks.h"

namespace orrery {
namespace {

struct SequentialEvent : EventHeader {
  explicit SequentialEvent(const EventHeader& header) : EventHeader(header) {}
  std::byte* payload() { return reinterpret_cast<std::byte*>(this) + sizeof(SequentialEvent); }
  std::size_t bytes() const { return sizeof(SequentialEvent) + size.bytes(); }
};

/// What the engine knows of an LP beside its own object.
struct LpRecord {
  std::unique_ptr<LogicalProcessBase> object;
  KernelState kernel;
};

template <class Pending>
class SequentialRun {
 public:
  SequentialRun(const Model& model, const RunOptions& options, RunControl& control)
      : model_(model),
        options_(options),
        control_(control),
        execution_(model, options, Outbox{*this}),
        trail_(options.livelock_microsteps) {}
  SequentialRun(const SequentialRun&) = delete;
  SequentialRun& operator=(const SequentialRun&) = delete;

  RunResult run() {
    RunResult result;
    if (control_.rows != nullptr) control_.rows->begin(1);
    Stopwatch watch;
    if (!set_up(result)) return result;
    result.startup_seconds = watch.lap();
    try {
      result.end = loop();
      result.reached = reached_;
    } catch (...) {
      result.end = RunEnd::fault;
      result.reached = execution_.now();
      result.fault =
          execution_.describe_failure() +
          LivelockTrail::text(trail_.steps(), execution_.cause(), options_.livelock_microsteps);
      if (execution_.rows() > 0) rows_.return_to(rows_before_);
    }
    result.loop_seconds = watch.lap();
    finish(result);
    result.shutdown_seconds = watch.lap();
    return result;
  }

 private:
  static constexpr std::uint64_t kPollEvents = 4096;

  /// Sends go into the pending set, rows are final.
  struct Outbox {
    SequentialRun& run;
    void send(const EventHeader& header, const void* payload) { run.send(header, payload); }
    void append_row(const Row& row) { run.append_row(row); }
  };

  /// False if the making or starting of an LP failed: then nothing is committed.
  bool set_up(RunResult& result) {
    LpId id = 0;
    try {
      lps_.resize(model_.lp_count());
      for (; id < lps_.size(); ++id) lps_[id].object = create_lp(model_, id);
      for (id = 0; id < lps_.size(); ++id) start(id);
      return true;
    } catch (const UsageError&) {
      throw;
    } catch (...) {
      result.end = RunEnd::fault;
      result.fault = describe_current_exception(model_, id, {}, Time::zero());
      result.metrics.resize(model_.metrics().size());
    }
    return false;
  }

  void start(LpId id) {
    LpRecord& lp = lps_[id];
    execution_.begin_start(id, *lp.object, lp.kernel);
    execution_.call_start();
    execution_.end(lp.kernel);
  }

  RunEnd loop() {
    const Time until = options_.until;
    for (;;) {
      for (std::uint64_t n = 0; n < kPollEvents; ++n) {
        SequentialEvent* event = pending_.top();
        if (event == nullptr || event->time() >= until) {
          reached_ = until;
          poll();
          return RunEnd::completed;
        }
        pending_.pop();
        handle(event);
      }
      poll();
      if (control_.stop_requested.load(std::memory_order_relaxed)) {
        reached_ = execution_.now();  // all before it is committed, and some of what happens at it
        return RunEnd::interrupted;
      }
    }
  }

  void handle(SequentialEvent* event) {
    LpRecord& lp = lps_[event->receiver];
    if (const auto* next = pending_.upcoming(1)) __builtin_prefetch(next);
    ORRERY_ASSERT(event->key() > execution_.cause(), "events are handled in the order of keys");
    execution_.begin(*event, event->payload(), *lp.object, lp.kernel);
    trail_.note(event->key(), event->receiver);
    execution_.call();
    execution_.end(lp.kernel);
    ++committed_;
    pool_.release(event, event->bytes());
  }

  void send(const EventHeader& header, const void* payload) {
    void* memory = pool_.allocate(sizeof(SequentialEvent) + header.size.bytes());
    auto* event = new (memory) SequentialEvent(header);
    std::memcpy(event->payload(), payload, header.size.bytes());
    pending_.push(event);
  }

  void append_row(const Row& row) {
    if (control_.rows == nullptr) return;
    if (row.ordinal == 0) rows_before_ = rows_.mark();
    rows_.append(row);
  }

  std::uint64_t memory_bytes() const { return depot_.slab_bytes() + pending_.bytes(); }

  /// Between batches: what watchers see, and the rows so far.
  void poll() {
    control_.gvt_ticks.store(execution_.now().ticks(), std::memory_order_relaxed);
    control_.committed.store(committed_, std::memory_order_relaxed);
    control_.executed.store(committed_, std::memory_order_relaxed);
    control_.memory_bytes.store(memory_bytes(), std::memory_order_relaxed);
    if (control_.rows != nullptr && !rows_.empty()) {
      control_.rows->commit(0, rows_);
      control_.rows->advance(0, Key::start_of(execution_.now()));
    }
  }

  void finish(RunResult& result) {
    poll();
    Finisher finisher(model_, result.reached, control_.rows);
    for (LpId id = 0; id < lps_.size(); ++id) {
      if (result.end == RunEnd::fault) {
        finisher.abandon(id, lps_[id].kernel.hash);
      } else {
        finisher.finish(id, *lps_[id].object, lps_[id].kernel.hash);
      }
    }
    finisher.store(result);
    result.committed = result.executed = committed_;
    result.peak_memory_bytes = memory_bytes() + lps_.capacity() * sizeof(LpRecord);
    if (control_.rows != nullptr) control_.rows->advance(0, Key::infinity());
  }

  const Model& model_;
  const RunOptions& options_;
  RunControl& control_;
  std::vector<LpRecord> lps_;
  EventDepot depot_;
  EventPool<32, Pools::one> pool_{depot_};
  Pending pending_;
  Execution<Outbox> execution_;
  std::uint64_t committed_ = 0;
  std::size_t rows_before_ = 0;  ///< the event being handled; valid once it has emitted
  LivelockTrail trail_;
  Time reached_;
  RowBuffer rows_;
};

class SequentialEngine final : public Engine {
 public:
  RunResult run(const Model& model, const RunOptions& options, RunControl& control) override {
    check_options(model, options);
    return pending::with_pending_set<SequentialEvent>(options.pending, [&]<class Pending>() {
      return SequentialRun<Pending>(model, options, control).run();
    });
  }
};

const EngineRegistration registration{
    "sequential", "one event at a time in time order; the yardstick of all others",
    []() -> std::unique_ptr<Engine> { return std::make_unique<SequentialEngine>(); }};

}  // namespace
}  // namespace orrery
