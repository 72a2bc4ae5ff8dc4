// SPDX-License-Identifier: Apache-2.0
//
// A thread's side of executing events: the Context that handlers see. What a handler sends is kept
// as a list for whoever looks after the pending event set; rows are kept until everything before
// them is finished.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/fingerprint.h"
#include "engine/expanded/event_pool.h"
#include "orrery/context.h"
#include "orrery/logical_process.h"
#include "run/engine.h"
#include "run/faults.h"
#include "run/finish.h"
#include "run/model_checks.h"
#include "run/send_rules.h"

namespace orrery::expanded {

/// What the engine knows of an LP beside its own object: a line of its own, since neighbours may be
/// in the hands of two threads.
struct alignas(64) LpRecord {
  std::unique_ptr<LogicalProcessBase> object;
  std::uint64_t hash = 0;
  std::uint64_t random_position = 0;
  std::uint64_t sends = 0;
};

/// What came of an event.
struct Result {
  enum class State : std::uint32_t {
    done,
    failed,  ///< the handler failed; the executor keeps the fault
    skipped  ///< behind a failed event of lower key: it will not commit
  };
  Event* sent = nullptr;          ///< list of what it sent
  std::uint64_t hash_before = 0;  ///< the LP's fingerprint, to go back to if it does not commit
  State state = State::done;
};

struct Fault {
  Key key;
  std::string sentence;
};

class Executor final : public Context {
 public:
  Executor(const Model& model, const RunOptions& options, bool keep_rows,
           std::vector<LpRecord>& lps, EventDepot& depot)
      : model_(model),
        options_(options),
        keep_rows_(keep_rows),
        lps_(lps),
        pool_(depot),
        trail_(options.livelock_microsteps) {
    lp_count_ = static_cast<LpId>(model.lp_count());
    metric_count_ = static_cast<std::uint32_t>(model.metrics().size());
  }

  /// start() of an LP; returns what it sent. Throws what the model throws.
  Event* start(LpId id) {
    begin(id, Key::start_of(Time::zero()), lps_[id]);
    minimum_delay_ = Duration::zero();
    lps_[id].object->start(*this);
    end(lps_[id]);
    return take_sent();
  }

  /// Executes an event and returns what it sent. Throws what the handler throws: then call `fail`.
  [[gnu::always_inline]] Event* run(const Event& event) {
    LpRecord& lp = lps_[event.receiver];
    begin(event.receiver, event.key(), lp);
    minimum_delay_ = duration_of(event, event.payload());
    hash_ = fingerprint::add_event(hash_, event, event.payload());
    trail_.note(event.key(), event.receiver);
    if (!lp.object->dispatch(*this, event.type, event.payload())) [[unlikely]]
      refuse_type(event);
    end(lp);
    return take_sent();
  }
  /// In the handler of what `run(event)` has thrown: notes the fault, takes back what it left.
  void fail(const Event& event) {
    note_fault(event);
    if (ordinal_ > 0) rows.return_to(rows_before_);
    for (Event* sent = take_sent(); sent != nullptr;) release(std::exchange(sent, sent->next));
  }

  /// Executes an event and frees it; nothing is thrown.
  Result execute(Event* event) {
    Result result{nullptr, lps_[event->receiver].hash, Result::State::done};
    if (fault_ && event->key() > fault_->key) [[unlikely]] {
      result.state = Result::State::skipped;
    } else {
      try {
        result.sent = run(*event);
      } catch (...) {
        fail(*event);
        result.state = Result::State::failed;
      }
    }
    release(event);
    return result;
  }

  void release(Event* event) { pool_.release(event); }
  /// Key of the event that was executed last.
  const Key& last_key() const { return cause_; }
  /// The fault of lowest key that this thread met.
  const std::optional<Fault>& fault() const { return fault_; }
  const LivelockTrail& livelock() const { return trail_; }

  RowBuffer rows;  ///< of finished events; others may take them while the thread executes nothing

 private:
  [[noreturn]] void refuse_type(const Event& event) const {
    throw ModelFault("the LP has no handler for this event type (sent by LP " +
                     std::to_string(event.sender()) + "); add it to its list of event types");
  }

  void begin(LpId id, const Key& key, LpRecord& lp) {
    now_ = key.time();
    self_ = id;
    cause_ = key;
    lp_ = lp.object.get();
    hash_ = lp.hash;
    sends_ = lp.sends;
    ordinal_ = 0;
    random_.begin(options_.seed, id, lp.random_position);
  }
  void end(LpRecord& lp) {
    lp.hash = hash_;
    lp.sends = sends_;
    lp.random_position = random_.position();
  }

  Event* take_sent() { return std::exchange(sent_, nullptr); }

  void note_fault(const Event& event) {
    auto name = lps_[event.receiver].object->event_name(event.type);
    if (name.empty()) name = "of an unknown type";
    fault_ =
        Fault{event.key(), describe_current_exception(model_, event.receiver, name, event.time())};
  }

  void send(LpId destination, Duration delay, EventTypeId type, std::uint32_t size_word,
            const void* payload) override {
    const Key key = key_of_send(model_, cause_, self_, ++sends_, destination, lp_count_, delay,
                                minimum_delay_, options_.livelock_microsteps);
    if (key.time() >= options_.until) return;
    const PayloadSize size = PayloadSize::of_word(size_word);
    void* memory = pool_.allocate(Event::kPayloadOffset + size.bytes());
    auto* event = new (memory) Event(key, destination, type, size);
    std::memcpy(event->payload(), payload, size.bytes());
    event->next = sent_;
    sent_ = event;
  }

  void append_row(const Table& table, std::span<const std::uint64_t> cells) override {
    if (!keep_rows_) return;
    if (ordinal_ == 0) rows_before_ = rows.mark();
    rows.append({cause_, ordinal_++, self_, table.index(), cells});
  }

  const Model& model_;
  const RunOptions& options_;
  const bool keep_rows_;
  std::vector<LpRecord>& lps_;
  EventPool pool_;
  Event* sent_ = nullptr;
  Key cause_;
  std::uint64_t sends_ = 0;
  std::uint32_t ordinal_ = 0;
  std::size_t rows_before_ = 0;  ///< the event being handled; valid once it has emitted
  LivelockTrail trail_;
  std::optional<Fault> fault_;
};

}  // namespace orrery::expanded
