// SPDX-License-Identifier: Apache-2.0
//
// A thread's side of executing events. What a handler sends is kept as a list for whoever looks
// after the pending event set; rows are kept until everything before them is finished.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/kernel_state.h"
#include "engine/expanded/event.h"
#include "orrery/logical_process.h"
#include "run/event_pool.h"
#include "run/execution.h"

namespace orrery::expanded {

/// What the engine knows of an LP beside its own object: a line of its own, since neighbours may be
/// in the hands of two threads.
struct alignas(64) LpRecord {
  std::unique_ptr<LogicalProcessBase> object;
  KernelState kernel;
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

/// Events lie on lines of their own: the thread that executes one is often not the one that takes
/// from the pending event set.
using Pool = EventPool<64>;

/// Where sends and rows of an execution go.
struct Outbox {
  Pool& pool;
  RowBuffer& rows;
  const bool keep_rows;
  Event* sent = nullptr;
  std::size_t rows_before = 0;  ///< the event being handled; valid once it has emitted

  [[gnu::always_inline]] void send(const EventHeader& header, const void* payload) {
    void* memory = pool.allocate(Event::kPayloadOffset + header.size.bytes());
    auto* event = new (memory) Event(header);
    std::memcpy(event->payload(), payload, header.size.bytes());
    event->next = sent;
    sent = event;
  }
  void append_row(const Row& row) {
    if (!keep_rows) return;
    if (row.ordinal == 0) rows_before = rows.mark();
    rows.append(row);
  }
};

class Executor {
 public:
  Executor(const Model& model, const RunOptions& options, bool keep_rows,
           std::vector<LpRecord>& lps, EventDepot& depot)
      : lps_(lps),
        pool_(depot),
        execution_(model, options, Outbox{pool_, rows, keep_rows}),
        trail_(options.livelock_microsteps) {}
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  /// start() of an LP; returns what it sent. Throws what the model throws.
  Event* start(LpId id) {
    LpRecord& lp = lps_[id];
    execution_.begin_start(id, *lp.object, lp.kernel);
    execution_.call_start();
    execution_.end(lp.kernel);
    return take_sent();
  }

  /// Executes an event and returns what it sent. Throws what the handler throws: then call `fail`.
  [[gnu::always_inline]] Event* run(const Event& event) {
    LpRecord& lp = lps_[event.receiver];
    execution_.begin(event, event.payload(), *lp.object, lp.kernel);
    trail_.note(event.key(), event.receiver);
    execution_.call();
    execution_.end(lp.kernel);
    return take_sent();
  }
  /// In the handler of what `run(event)` has thrown: notes the fault, takes back what it left.
  void fail(const Event& event) {
    fault_ = Fault{event.key(), execution_.describe_failure()};
    if (execution_.rows() > 0) rows.return_to(execution_.outbox().rows_before);
    for (Event* sent = take_sent(); sent != nullptr;) release(std::exchange(sent, sent->next));
  }

  /// Executes an event and frees it; nothing is thrown.
  Result execute(Event* event) {
    Result result{nullptr, lps_[event->receiver].kernel.hash, Result::State::done};
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

  void release(Event* event) { pool_.release(event, event->bytes()); }
  /// Key of the event that was executed last.
  const Key& last_key() const { return execution_.cause(); }
  /// The fault of lowest key that this thread met.
  const std::optional<Fault>& fault() const { return fault_; }
  const LivelockTrail& livelock() const { return trail_; }

  RowBuffer rows;  ///< of finished events; others may take them while the thread executes nothing

 private:
  Event* take_sent() { return std::exchange(execution_.outbox().sent, nullptr); }

  std::vector<LpRecord>& lps_;
  Pool pool_;
  Execution<Outbox> execution_;
  LivelockTrail trail_;
  std::optional<Fault> fault_;
};

}  // namespace orrery::expanded
