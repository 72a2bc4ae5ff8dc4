// SPDX-License-Identifier: Apache-2.0
//
// Worker: executing events and what handlers ask for. Included by worker.h only.
#pragma once

namespace orrery::timewarp {

/// What `free` met in the handler that runs on this thread: it cannot throw, so the handler goes on
/// and fails when it returns. Thread-local like the mode itself, because `free` knows no worker.
struct HeapMisuseNote {
  bool seen = false;
  memory::HeapMisuse what{};
  std::string sentence() {
    seen = false;
    return std::string("it misused its memory: ") + memory::describe(what);
  }
};

inline constexpr const char* kFailedCoasting =
    " (it went well when it was executed first: the handler depends on something outside the LP)";

inline HeapMisuseNote& heap_misuse() {
  static constinit thread_local HeapMisuseNote note;
  return note;
}

inline void note_heap_misuse(memory::HeapMisuse what, const void*, memory::LpHeap*) {
  heap_misuse() = {true, what};
}

template <class Pending>
void Worker<Pending>::handle(TwEvent* event) {
  LpState& lp = lps_[event->receiver];
  if (!faults_.empty()) [[unlikely]] {
    Fault* fault = fault_of(event->receiver);
    if (fault != nullptr && event->key() >= fault->key) {
      fault->waiting.push_back(event);
      return;
    }
  }
  if (speculative_) {
    if (!claim(event)) return;
    if (event->time().ticks() <= lp.last_ticks && event->key() < lp.last()->key()) [[unlikely]] {
      roll_back(event->receiver, event->key());
    }
  }
  execute(lp, event);
}

/// Takes a popped event for execution; frees it and says no if its sender cancelled it.
template <class Pending>
bool Worker<Pending>::claim(TwEvent* event) {
  std::uint32_t before;
  if (event->remote != 0) {
    before = event->status.fetch_or(TwEvent::kProcessed, std::memory_order_acq_rel);
  } else {
    before = event->status.load(std::memory_order_relaxed);
    event->status.store(before | TwEvent::kProcessed, std::memory_order_relaxed);
  }
  if ((before & TwEvent::kCancelled) == 0) [[likely]]
    return true;
  free_event(event);
  return false;
}

template <class Pending>
void Worker<Pending>::execute(LpState& lp, TwEvent* event) {
  if (speculative_) {
    if (lp.kept) [[unlikely]]
      return execute_kept(lp, event);
    if (lp.count == 0 || lp.count % interval_.events() == 0) take_checkpoint(event->receiver, lp);
    lp.append(blocks_, event);
    if (!lp.active) {
      lp.active = 1;
      active_.push_back(event->receiver);
    }
  }
  event->first_sent = nullptr;
  const bool succeeded = run_handler(lp, event);
  if (speculative_) {
    ++statistics_.executed;
  } else if (succeeded) {
    ++statistics_.executed;
    free_event(event);
  }
}

/// The same for an LP that has a record of its own.
template <class Pending>
void Worker<Pending>::execute_kept(LpState& lp, TwEvent* event) {
  const checkpoint::Keeper::Lp view = kept(event->receiver, lp);
  if (view.kept.copying != nullptr) flush();  // messages go before copies
  const bool reversing = keeper_.before_event(view, lp.next_ordinal());
  lp.append(blocks_, event);
  if (!lp.active) {
    lp.active = 1;
    active_.push_back(event->receiver);
  }
  event->first_sent = nullptr;
  reversing_ = reversing;
  const bool succeeded = run_handler(lp, event);
  reversing_ = false;
  keeper_.after_event(view, lp.next_ordinal(), succeeded);
  ++statistics_.executed;
}

template <class Pending>
checkpoint::Keeper::Lp Worker<Pending>::kept(LpId id, LpState& lp) {
  return {id, *lp.object, lps_.heap(id), lp.kernel, lp.checkpoints, *lps_.kept(id)};
}

/// False if the handler failed; the fault is noted and the LP blocked behind it.
template <class Pending>
bool Worker<Pending>::run_handler(LpState& lp, TwEvent* event) {
  begin(event->receiver, event->key(), lp);
  const std::size_t rows_before = rows_.mark();
  minimum_delay_ = duration_of(*event, event->payload());
  current_ = event;
  hash_ = fingerprint::add_event(hash_, *event, event->payload());
  trail_.note(event->key(), event->receiver);
  bool succeeded = true;
  heap_misuse().seen = false;
  memory::enter_application_mode(lps_.heap(event->receiver));
  try {
    if (!lp.object->dispatch(*this, event->type, event->payload())) [[unlikely]] {
      throw ModelFault("the LP has no handler for this event type (sent by LP " +
                       std::to_string(event->sender()) + "); add it to its list of event types");
    }
    if (heap_misuse().seen) [[unlikely]]
      throw ModelFault(heap_misuse().sentence());
    memory::leave_application_mode();
  } catch (...) {
    // The exception lies in the LP's heap and is freed at the end of this block: platform mode only
    // in between.
    memory::leave_application_mode();
    note_fault(event, coasting_ ? kFailedCoasting : "");
    succeeded = false;
    memory::enter_application_mode(lps_.heap(event->receiver));
  }
  memory::leave_application_mode();
  note_growth(lp);
  current_ = nullptr;
  if (succeeded) [[likely]] {
    end(lp);
  } else if (!speculative_) {
    rows_.return_to(rows_before);
  }
  return succeeded;
}

template <class Pending>
void Worker<Pending>::begin(LpId id, const Key& key, LpState& lp) {
  now_ = key.time();
  self_ = id;
  cause_ = key;
  lp_ = lp.object;
  hash_ = lp.kernel.hash;
  sends_ = lp.kernel.sends;
  ordinal_ = 0;
  random_.begin(shared_.options.seed, id, lp.kernel.random_position);
}

template <class Pending>
void Worker<Pending>::end(LpState& lp) {
  lp.kernel.hash = hash_;
  lp.kernel.sends = sends_;
  lp.kernel.random_position = random_.position();
}

/// An LP that allocated something keeps its checkpoints through its heap from now on.
template <class Pending>
void Worker<Pending>::note_growth(LpState& lp) {
  if (!memory::thread_context.heap_grew) [[likely]]
    return;
  memory::thread_context.heap_grew = false;
  lp.one_chunk = 0;
}

template <class Pending>
void Worker<Pending>::take_checkpoint(LpId id, LpState& lp) {
  const std::uint32_t ordinal = lp.next_ordinal();
  if (lp.checkpoints != nullptr && lp.checkpoints->ordinal == ordinal) return;
  const bool measured = (++statistics_.checkpoints & 63) == 0;
  const std::uint64_t start = measured ? read_cycles() : 0;
  if (lp.one_chunk) {
    lp.checkpoints = checkpoint::take_single(blocks_, lp.object, memory::chunk_bytes_of(lp.object),
                                             lp.kernel, ordinal, lp.checkpoints);
  } else {
    lp.checkpoints = checkpoint::take(blocks_, lps_.heap(id), lp.kernel, ordinal, lp.checkpoints);
    adopt_if_large(id, lp, lp.checkpoints->image_bytes);
  }
  if (measured) {
    const auto cycles = static_cast<double>(read_cycles() - start);
    checkpoint_cycles_ = checkpoint_cycles_ == 0 ? cycles : 0.9 * checkpoint_cycles_ + 0.1 * cycles;
  }
}

/// Gives an LP a record of its own, from its next event on, if the strategy has one for it.
template <class Pending>
void Worker<Pending>::adopt_if_large(LpId id, LpState& lp, std::size_t image_bytes) {
  std::unique_ptr<checkpoint::Kept> record = keeper_.adopt(*lp.object, image_bytes);
  if (record == nullptr) return;
  record->committed = lp.base;
  lps_.kept(id) = std::move(record);
  lp.kept = 1;
  kept_lps_.push_back(id);
}

/// Notes the exception that is being handled; `addition` ends the sentence.
template <class Pending>
void Worker<Pending>::note_fault(TwEvent* event, const char* addition) {
  LpState& lp = lps_[event->receiver];
  lp.faulted = 1;
  auto name = lp.object->event_name(event->type);
  if (name.empty()) name = "of an unknown type";
  std::string sentence = describe_current_exception(model_, event->receiver, name, event->time());
  sentence += addition;
  // A committed event can fail again only while coasting; GVT does not go back for it.
  faults_.push_back({event->receiver, std::max(event->key(), gvt_), std::move(sentence), {}});
}

template <class Pending>
void Worker<Pending>::send(LpId destination, Duration delay, EventTypeId type,
                           std::uint32_t size_word, const void* payload) {
  const Key key = key_of_send(model_, cause_, self_, ++sends_, destination, lp_count_, delay,
                              minimum_delay_, shared_.options.livelock_microsteps);
  if (coasting_ || key.time() >= shared_.options.until) return;
  const memory::PlatformMode platform;
  const PayloadSize payload_size = PayloadSize::of_word(size_word);
  void* memory = pool_.allocate(TwEvent::kPayloadOffset + payload_size.bytes());
  auto* event = new (memory) TwEvent(key, destination, type, payload_size);
  std::memcpy(event->payload(), payload, payload_size.bytes());
  if (current_ != nullptr) {
    event->sent_next = current_->first_sent;
    current_->first_sent = event;
  }
  const unsigned owner = shared_.owners[destination];
  if (owner == index_) {
    pending_.push(event);
    return;
  }
  event->remote = 1;
  ++statistics_.remote_events;
  if (key < sent_lowest_) sent_lowest_ = key;
  shared_.channel(index_, owner).push(Message::event(event));
}

template <class Pending>
void Worker<Pending>::append_row(const Table& table, std::span<const std::uint64_t> cells) {
  if (!has_rows_ || coasting_) return;
  const memory::PlatformMode platform;
  const Row row{cause_, ordinal_++, self_, table.index(), cells};
  if (speculative_ && current_ != nullptr) {
    speculative_rows_.append(self_, row);
  } else {
    rows_.append(row);
  }
}

template <class Pending>
void Worker<Pending>::save_before(const void* address, std::size_t bytes) {
  keeper_.undo_log().save_before(address, bytes);
}

template <class Pending>
void Worker<Pending>::remember_bytes(const void* value, std::size_t bytes) {
  keeper_.undo_log().remember(value, bytes);
}

}  // namespace orrery::timewarp
