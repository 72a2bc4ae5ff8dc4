// SPDX-License-Identifier: Apache-2.0
//
// The sequential engine: one pending event set, one loop. It is the yardstick of all others, so it
// does nothing that a hand-written simulator would not: an event is one node of 32 bytes and its
// payload, taken from a free list; the pending set holds 16-byte entries; an LP's kernel state is
// 32 bytes; the only indirect calls are the model's handler and its sends. LPs live in ordinary
// memory: nothing is ever rolled back.
#include <chrono>
#include <memory>
#include <new>
#include <vector>

#include "core/fingerprint.h"
#include "engine/sequential/event_pool.h"
#include "pending/registry.h"
#include "run/engine.h"
#include "run/faults.h"
#include "run/finish.h"
#include "run/model_checks.h"
#include "run/send_rules.h"

namespace orrery {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct SequentialEvent : EventHeader {
  using EventHeader::EventHeader;
  std::byte* payload() { return reinterpret_cast<std::byte*>(this) + sizeof(SequentialEvent); }
};

/// What the engine knows of an LP beside its own object.
struct LpRecord {
  std::unique_ptr<LogicalProcessBase> object;
  std::uint64_t hash = 0;
  std::uint64_t random_position = 0;
  std::uint64_t sends = 0;
};

template <class Pending>
class SequentialRun final : public Context {
 public:
  SequentialRun(const Model& model, const RunOptions& options, RunControl& control)
      : model_(model), options_(options), control_(control), trail_(options.livelock_microsteps) {
    lp_count_ = static_cast<LpId>(model.lp_count());
    metric_count_ = static_cast<std::uint32_t>(model.metrics().size());
  }
  ~SequentialRun() {
    pending_.drain([this](SequentialEvent* event) { release(event); });
  }

  RunResult run() {
    RunResult result;
    if (control_.rows != nullptr) control_.rows->begin(1);
    auto start = Clock::now();
    if (!set_up(result)) return result;
    result.startup_seconds = seconds_since(start);
    start = Clock::now();
    try {
      result.end = loop();
      result.reached = reached_;
    } catch (...) {
      result.end = RunEnd::fault;
      result.reached = now_;
      result.fault = fault_sentence();
      if (ordinal_ > 0) rows_.return_to(rows_before_);
    }
    result.loop_seconds = seconds_since(start);
    start = Clock::now();
    finish(result);
    result.shutdown_seconds = seconds_since(start);
    return result;
  }

 private:
  static constexpr std::uint64_t kPollEvents = 4096;

  /// False if the making or starting of an LP failed: then nothing is committed.
  bool set_up(RunResult& result) {
    try {
      make_lps();
      start_lps();
      return true;
    } catch (const UsageError&) {
      throw;
    } catch (...) {
      result.end = RunEnd::fault;
      result.fault = describe_current_exception(model_, self_, {}, Time::zero());
      result.metrics.resize(metric_count_);
    }
    return false;
  }

  void make_lps() {
    lps_.resize(lp_count_);
    for (LpId id = 0; id < lp_count_; ++id) {
      self_ = id;
      lps_[id].object = create_lp(model_, id);
    }
  }

  void start_lps() {
    for (LpId id = 0; id < lp_count_; ++id) {
      const Key start = Key::start_of(Time::zero());
      begin(id, start, lps_[id]);
      lps_[id].object->start(*this);
      end(lps_[id]);
    }
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
        reached_ = now_;  // all before it is committed, and some of what happens at it
        return RunEnd::interrupted;
      }
    }
  }

  void handle(SequentialEvent* event) {
    current_ = event;
    LpRecord& record = lps_[event->receiver];
    if (const auto* next = pending_.upcoming(1)) __builtin_prefetch(next);
    begin(event->receiver, event->key(), record);
    hash_ = fingerprint::add_event(hash_, *event, event->payload());
    minimum_delay_ = duration_of(*event, event->payload());
    trail_.note(event->key(), event->receiver);
    if (!record.object->dispatch(*this, event->type, event->payload())) [[unlikely]]
      refuse_type();
    end(record);
    ++committed_;
    release(event);
    current_ = nullptr;
  }

  void begin(LpId id, const Key& key, LpRecord& record) {
    now_ = key.time();
    self_ = id;
    cause_ = key;
    lp_ = record.object.get();
    hash_ = record.hash;
    sends_ = record.sends;
    ordinal_ = 0;
    random_.begin(options_.seed, id, record.random_position);
  }
  void end(LpRecord& record) {
    record.hash = hash_;
    record.sends = sends_;
    record.random_position = random_.position();
  }

  void send(LpId destination, Duration delay, EventTypeId type, std::uint32_t size_word,
            const void* payload) override {
    const Key key = key_of_send(model_, cause_, self_, ++sends_, destination, lp_count_, delay,
                                minimum_delay_, options_.livelock_microsteps);
    if (key.time() >= options_.until) return;
    const PayloadSize size = PayloadSize::of_word(size_word);
    void* memory = pool_.allocate(sizeof(SequentialEvent) + size.bytes());
    auto* event = new (memory) SequentialEvent(key, destination, type, size);
    std::memcpy(event->payload(), payload, size.bytes());
    pending_.push(event);
  }

  void append_row(const Table& table, std::span<const std::uint64_t> cells) override {
    if (control_.rows == nullptr) return;
    if (ordinal_ == 0) rows_before_ = rows_.mark();
    rows_.append({cause_, ordinal_++, self_, table.index(), cells});
  }

  void release(SequentialEvent* event) {
    pool_.release(event, sizeof(SequentialEvent) + event->size.bytes());
  }

  /// Between batches: what watchers see, and the rows so far.
  void poll() {
    control_.gvt_ticks.store(now_.ticks(), std::memory_order_relaxed);
    control_.committed.store(committed_, std::memory_order_relaxed);
    control_.executed.store(committed_, std::memory_order_relaxed);
    control_.memory_bytes.store(pool_.bytes() + pending_.bytes(), std::memory_order_relaxed);
    if (control_.rows != nullptr && !rows_.empty()) {
      control_.rows->commit(0, rows_);
      control_.rows->advance(0, Key::start_of(now_));
    }
  }

  [[noreturn]] void refuse_type() const {
    throw ModelFault("the LP has no handler for this event type (sent by LP " +
                     std::to_string(current_->sender()) + "); add it to its list of event types");
  }

  std::string fault_sentence() const {
    const auto name = current_ == nullptr ? std::string_view() : event_name();
    return describe_current_exception(model_, self_, name, now_) +
           LivelockTrail::text(trail_.steps(), cause_, options_.livelock_microsteps);
  }
  std::string_view event_name() const {
    const auto name = lps_[self_].object->event_name(current_->type);
    return name.empty() ? "of an unknown type" : name;
  }

  void finish(RunResult& result) {
    poll();
    Finisher finisher(model_, result.reached, control_.rows);
    for (LpId id = 0; id < lps_.size(); ++id) {
      if (result.end == RunEnd::fault) {
        finisher.abandon(id, lps_[id].hash);
      } else {
        finisher.finish(id, *lps_[id].object, lps_[id].hash);
      }
    }
    finisher.store(result);
    result.committed = result.executed = committed_;
    result.peak_memory_bytes =
        pool_.bytes() + pending_.bytes() + lps_.capacity() * sizeof(LpRecord);
    if (control_.rows != nullptr) control_.rows->advance(0, Key::infinity());
  }

  const Model& model_;
  const RunOptions& options_;
  RunControl& control_;
  std::vector<LpRecord> lps_;
  EventPool pool_;
  Pending pending_;
  Key cause_;
  std::uint64_t sends_ = 0;
  std::uint64_t committed_ = 0;
  SequentialEvent* current_ = nullptr;
  std::uint32_t ordinal_ = 0;
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
