// SPDX-License-Identifier: Apache-2.0
//
// The execution of a handler: the only Context of all engines. It implements the rules that all
// engines share (keys of sends, fingerprint, random stream, refused calls). Where sends and rows go
// is up to the outbox, a template argument, so that a send costs only one virtual call.
//
// An object holds the whole state of one execution and nothing of a worker: an engine that suspends
// a handler keeps its object and executes another event with another object. Most engines have one
// object for each thread and use it for one event after another.
//
// An Outbox has
//   Modes                                                       in which it is called, see
//                                                               outbox_modes.h
//   void send(const EventHeader& header, const Payload& payload)   an event before the horizon;
//                                                               write_payload (payload.h) copies it
//   void append_row(const Row& row)                             a row of the event being handled
//   bool takes_rows() const                                     optional: else rows are discarded
//   void observe(const Key& key, LpId lp, const Observation&)   for the mergeable statistics
// and, for engines with reverse handlers only,
//   void save_before(const void* address, std::size_t bytes), void remember(const void*,
//   std::size_t), which are called in the mode of the handler
//   bool coasting    whether the execution has no effects outside the LP: then nothing is called
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "core/assert.h"
#include "core/dead_timer.h"
#include "core/event_header.h"
#include "core/fingerprint.h"
#include "core/float_environment.h"
#include "core/kernel_state.h"
#include "core/mergeable_statistics.h"
#include "core/payload.h"
#include "core/rows.h"
#include "orrery/context.h"
#include "orrery/error.h"
#include "orrery/logical_process.h"
#include "run/containment/activity.h"
#include "run/containment/faults.h"
#include "run/containment/lp_names.h"
#include "run/execution/outbox_modes.h"
#include "run/execution/send_rules.h"
#include "run/execution/trace_recorder.h"
#include "run/execution/traced_event.h"
#include "run/options/options.h"

namespace orrery {

template <class Outbox>
class Execution final : public Context, public HandlerExecution {
 public:
  Execution(const Model& model, const Promises& promises, const RunOptions& options, Outbox outbox)
      : outbox_(std::move(outbox)),
        model_(model),
        promises_(promises),
        seed_(options.seed),
        livelock_microsteps_(options.livelock_microsteps) {
    horizon_ = options.until;
    lp_count_ = static_cast<LpId>(model.lp_count());
    metric_bytes_ = model.metric_bytes();
  }

  /// For a traced run, before anything is executed. `lane`: of the executing worker; null: the
  /// durations of handlers are not recorded.
  void trace_with(TraceRecorder* recorder, TraceLane* lane) {
    recorder_ = recorder;
    lane_ = lane;
  }

  /// An LP's start(), in three steps like an event: begin, call, end.
  void begin_start(LpId id, LogicalProcessBase& lp, const KernelState& kernel) {
    begin(id, Key::start_of(Time::zero()), lp, kernel);
    minimum_delay_ = Duration::zero();
    event_ = nullptr;
  }
  void call_start() {
    {
      const Running running(*this);
      const FloatGuard floats;
      lp_->start(*this);
    }
    if (recorder_ != nullptr && sends_ > 0) append_traced({}, 0);
  }

  /// Begins an event that is not a dead timer. Event and payload must stay valid until the
  /// execution ends.
  [[gnu::always_inline]] void begin(const EventHeader& event, const void* payload,
                                    LogicalProcessBase& lp, const KernelState& kernel) {
    begin(event.receiver, event.key(), lp, kernel);
    minimum_delay_ = duration_of(event, payload);
    hash_ = fingerprint::add_event(hash_, event, payload);
    event_ = &event;
    payload_ = payload;
  }
  /// Throws the handler's exception.
  [[gnu::always_inline]] void call() {
    if (recorder_ != nullptr) [[unlikely]]
      return call_traced();
    call_handler();
  }
  /// Called after the event's handler was dropped, which will not end.
  void note_dropped() {
    if (lane_ == nullptr || !recorder_->scope().contains(self_, now_)) return;
    TraceRecord record{begun_cycles_, read_cycles()};
    record.kind = TraceKind::dropped;
    record.ticks = now_.ticks();
    record.lp = self_;
    record.text = event_name();
    lane_->add(record);
  }

  /// Stores the platform's new state of the LP.
  void end(KernelState& kernel) const {
    kernel.hash = hash_;
    kernel.sends = sends_;
    kernel.random_position = random_.position();
  }

  /// The sentence for the exception being handled, which has left `call` or `call_start`.
  std::string describe_failure() const {
    return describe_current_exception(model_, self_, event_name(), now_);
  }

  const Key& cause() const { return cause_; }
  /// Timers that handlers have cancelled so far, including rolled back ones.
  std::uint64_t cancelled_timers() const { return cancelled_timers_; }
  /// Rows that the event has emitted so far.
  std::uint32_t rows() const { return rows_; }
  /// Sets whether the event, if undone, is undone by its reverse handler.
  void set_reversing(bool reversing) { reversing_ = reversing; }
  Outbox& outbox() { return outbox_; }
  const Outbox& outbox() const { return outbox_; }

 private:
  [[gnu::always_inline]] void begin(LpId id, const Key& key, LogicalProcessBase& lp,
                                    const KernelState& kernel) {
    now_ = key.time();
    self_ = id;
    cause_ = key;
    lp_ = &lp;
    hash_ = kernel.hash;
    sends_ = kernel.sends;
    rows_ = 0;
    random_.begin(seed_, id, kernel.random_position);
  }

  [[gnu::always_inline]] void call_handler() {
    const Running running(*this);
    const FloatGuard floats;
    std::uint32_t bytes = event_->size.bytes();
    if (event_->size.has_trailer()) [[unlikely]]
      bytes -= open_trailer();
    if (!lp_->dispatch(*this, event_->type, payload_, bytes)) [[unlikely]]
      refuse_type();
  }
  /// In the mode of the handler. Reads the event's name before the call, since the handler may
  /// overwrite its own LP.
  [[gnu::noinline]] void call_traced() {
    if (!recorder_->scope().contains(self_, now_)) return call_handler();
    const std::string_view name = lp_->event_name(event_->type);
    const std::uint64_t sends_before = sends_;
    {
      begun_cycles_ = lane_ == nullptr ? 0 : read_cycles();
      const TraceSpan span(lane_, is_repeated() ? TraceKind::coasted : TraceKind::event,
                           now_.ticks(), self_, name);
      call_handler();
    }
    append_traced(name, sends_before);
  }
  bool is_repeated() const {
    if constexpr (requires { outbox_.coasting; }) return outbox_.coasting;
    return false;
  }
  /// Appends the trace of the event as its last row.
  void append_traced(std::string_view name, std::uint64_t sends_before) {
    if (!recorder_->takes_events() || !recorder_->scope().contains(self_, now_)) return;
    const TracedEvent traced =
        TracedEvent::of(event_, name, minimum_delay_, hash_, sends_before, sends_);
    TracedEvent::Cells cells;
    put_row({cause_, rows_++, self_, TracedEvent::kTable, traced.pack(cells)});
  }
  void put_row(const Row& row) {
    if constexpr (requires { outbox_.takes_rows(); })
      if (!outbox_.takes_rows()) return;
    if (is_repeated()) return;
    [[maybe_unused]] const typename Outbox::Modes::Row mode;
    outbox_.append_row(row);
  }
  template <class Payload>
  [[gnu::always_inline]] void put(const EventHeader& header, const Payload& payload) {
    if (is_repeated()) return;
    [[maybe_unused]] const typename Outbox::Modes::Send mode;
    outbox_.send(header, payload);
  }

  [[gnu::always_inline]] Key key_of(LpId destination, Duration delay,
                                    int phase = detail::kNoPhase) {
    return key_of_send(model_, promises_, cause_, self_, ++sends_, destination, lp_count_, delay,
                       minimum_delay_, livelock_microsteps_, phase);
  }
  [[gnu::noinline]] Key key_in_phase(LpId destination, Duration delay, int phase) {
    return key_of(destination, delay, phase);
  }
  void send(LpId destination, Duration delay, EventTypeId type, std::uint32_t size_word,
            const void* payload) override {
    const Key key = key_of(destination, delay);
    if (key.time() >= horizon_) return;
    put(EventHeader(key, destination, type, PayloadSize::of_word(size_word)), payload);
  }
  void send_parts(LpId destination, Duration delay, EventTypeId type,
                  const detail::PayloadParts& parts) override {
    check_payload(model_, destination, parts);
    const Key key = parts.phase == detail::kNoPhase ? key_of(destination, delay)
                                                    : key_in_phase(destination, delay, parts.phase);
    if (key.time() >= horizon_) return;
    const PayloadSize size(static_cast<std::uint32_t>(parts.size()), parts.hashed,
                           parts.has_trailer);
    put(EventHeader(key, destination, type, size), parts);
  }
  /// Handles the trailer, which the model does not see: a timer is not live while its event is
  /// handled. Returns the trailer's size.
  [[gnu::noinline]] std::uint32_t open_trailer() {
    if (!is_timer(*event_, payload_)) return kTrailerBytes;
    ORRERY_ASSERT(!is_dead_timer(*lp_, *event_, payload_), "a dead timer is not executed");
    end_timer(timer_place(trailer_of(*event_, payload_)));
    return kTrailerBytes;
  }
  void append_row(std::uint32_t table, std::span<const std::uint64_t> cells) override {
    put_row({cause_, rows_++, self_, table, cells});
  }
  void observe(const Observation& observation) override {
    if constexpr (requires { outbox_.observe(cause_, self_, observation); }) {
      if (is_repeated()) return;
      [[maybe_unused]] const typename Outbox::Modes::Value mode;
      outbox_.observe(cause_, self_, observation);
    }
  }
  void save_before(const void* address, std::size_t bytes) override {
    if constexpr (requires { outbox_.save_before(address, bytes); })
      outbox_.save_before(address, bytes);
  }
  void remember_bytes(const void* value, std::size_t bytes) override {
    if constexpr (requires { outbox_.remember(value, bytes); }) outbox_.remember(value, bytes);
  }

  unsigned phase_number() const override { return cause_.phase(); }

  void tell(ModelCode& code) const override {
    code.lp = self_;
    code.cause = cause_;
    code.event = event_name();
  }
  std::string_view event_name() const {
    return event_ == nullptr ? std::string_view() : name_of_event(*lp_, event_->type);
  }
  [[noreturn, gnu::noinline]] void refuse_type() const {
    throw ModelFault("the LP has no handler for this event type (sent by " +
                     lp_text(model_, event_->sender()) + "); add it to its list of event types");
  }

  Outbox outbox_;
  const Model& model_;
  const Promises& promises_;
  const std::uint64_t seed_;
  const std::uint32_t livelock_microsteps_;
  std::uint32_t rows_ = 0;
  TraceRecorder* recorder_ = nullptr;  ///< null: the run is not traced
  TraceLane* lane_ = nullptr;
  std::uint64_t begun_cycles_ = 0;  ///< start of the handler, if there is a lane
  Key cause_;
  const EventHeader* event_ = nullptr;  ///< nullptr: start()
  const void* payload_ = nullptr;
};

}  // namespace orrery
