// SPDX-License-Identifier: Apache-2.0
//
// The interface of a run for a handler: clock, random numbers, sends, timers, reports. An engine
// may call a handler speculatively, roll it back and call it again; a rollback undoes everything
// that the handler did through its context and to its own LP's memory.
//
// Expanded events, events with a duration, follow G. Kunz, O. Landsiedel, S. Goetz, K. Wehrle, J.
// Gross and F. Naghibi, "Expanding the event horizon in parallelized network simulations", MASCOTS
// 2010. An expanded event causes other events only at its end or later, so an engine may execute
// other events in parallel with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

#include "orrery/capture.h"
#include "orrery/event.h"
#include "orrery/payload.h"
#include "orrery/random.h"
#include "orrery/random_stream.h"
#include "orrery/results.h"
#include "orrery/time.h"
#include "orrery/timer.h"

namespace orrery {

class LogicalProcessBase;
class Ledger;
struct Observation;

namespace detail {

template <class V>
inline constexpr bool is_text =
    std::is_convertible_v<const V&, std::string_view> && !std::is_null_pointer_v<V>;

/// Which values of a row are integers, and which are texts: a bit for each.
struct ValueKinds {
  std::uint32_t integers = 0, texts = 0;
};

template <class... Values>
constexpr ValueKinds kinds_of() {
  ValueKinds kinds;
  std::uint32_t bit = 1;
  ((kinds.integers |= std::is_integral_v<Values> ? bit : 0u,
    kinds.texts |= is_text<Values> ? bit : 0u, bit <<= 1),
   ...);
  return kinds;
}

}  // namespace detail

/// The common part of the contexts of start(), handlers and finish(): clock, LP number, reports.
class OutputContext {
 public:
  OutputContext(const OutputContext&) = delete;
  OutputContext& operator=(const OutputContext&) = delete;

  /// Simulation time of the event being handled; of an expanded event its start.
  Time now() const { return now_; }
  /// The LP that handles the event.
  LpId self() const { return self_; }
  /// Number of LPs in the model.
  LpId lp_count() const { return lp_count_; }

  /// Adds a value to a metric. Model fault: the metric is a level.
  void record(const Metric& metric, double value);
  /// Sets a level of this LP (Keep::level) to `value` from now on. The level exists from the first
  /// call to the end of the run; of several calls at one time, the last counts. Model fault: the
  /// metric keeps values.
  void level(const Metric& metric, double value);

  /// Adds a row to a table: one value for each column, in column order. Integer columns take
  /// integers, real columns floating point, text columns anything that converts to
  /// std::string_view. A mismatch or more than 4096 bytes of text in a row is a model fault.
  template <class... Values>
  void emit(const Table& table, const Values&... values) {
    constexpr bool possible = ((std::is_arithmetic_v<Values> || detail::is_text<Values>)&&...);
    static_assert(possible,
                  "a row holds numbers and texts: emit() takes integers, floating point, "
                  "and what a std::string_view can be made from");
    static_assert(sizeof...(Values) > 0, "a row has as many values as its table has columns");
    if constexpr (possible && sizeof...(Values) > 0) {
      constexpr detail::ValueKinds kinds = detail::kinds_of<Values...>();
      const std::uint64_t cells[] = {cell(values)...};
      if constexpr (kinds.texts == 0) {
        emit_numbers(table, cells, kinds);
      } else {
        const std::string_view texts[] = {text(values)...};
        emit_texts(table, cells, texts, kinds);
      }
    }
  }

  /// Captures bytes at an interface, with the time of the event. Model fault: more than
  /// Capture::kMaxBytes (65535).
  void capture(const Capture& interface, std::span<const std::byte> bytes);

 protected:
  OutputContext() = default;
  ~OutputContext() = default;
  /// `table`: as in core/row_cells.h.
  virtual void append_row(std::uint32_t table, std::span<const std::uint64_t> cells) = 0;
  /// Called before `bytes` at `address`, in the LP's memory, change, if `reversing_` is set.
  virtual void save_before(const void* address, std::size_t bytes);
  /// Adds an observation to a metric once the event commits.
  virtual void observe(const Observation& observation);
  /// The platform's own state of the LP, in the LP's memory; allocated on the first call.
  Ledger& ledger();

  Time now_;
  LpId self_ = 0;
  LpId lp_count_ = 0;
  std::uint32_t metric_bytes_ = 0;  // state of all metrics of the LP, in bytes
  bool reversing_ = false;          // the event may be undone by its reverse handler
  LogicalProcessBase* lp_ = nullptr;
  std::uint64_t hash_ = 0;  // the LP's running fingerprint

 private:
  template <class V>
  static std::uint64_t cell(const V& value) {
    std::uint64_t bits = 0;
    if constexpr (detail::is_text<V>) {
      bits = std::string_view(value).size();
    } else if constexpr (std::is_floating_point_v<V>) {
      const double wide = value;
      std::memcpy(&bits, &wide, sizeof bits);
    } else {
      bits = static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
    }
    return bits;
  }
  template <class V>
  static std::string_view text(const V& value) {
    if constexpr (detail::is_text<V>) {
      return value;
    } else {
      return {};
    }
  }
  void add_observation(const Metric& metric, double value, double before);
  void emit_numbers(const Table& table, std::span<const std::uint64_t> cells,
                    detail::ValueKinds kinds);
  void emit_texts(const Table& table, std::span<const std::uint64_t> cells,
                  std::span<const std::string_view> texts, detail::ValueKinds kinds);
  void add_row(std::uint32_t table, std::span<const std::uint64_t> cells);
};

/// The context of a handler.
class Context : public OutputContext {
 public:
  /// The LP's own random stream (see orrery/random.h).
  Random& random() { return random_; }
  /// A named stream that is a member of the LP (see orrery/random_stream.h). It continues where the
  /// previous event stopped.
  Random& random(RandomStream& stream) {
    if (reversing_) [[unlikely]]
      save_before(&stream, sizeof stream);
    return stream.belonging_to(random_);
  }
  /// The named stream of this LP for one item that the model numbers itself (a customer, a call, a
  /// day), from its first number on. The platform keeps no position: call it once an item, or keep
  /// the value. Throws std::invalid_argument for items of 2^36 and above.
  Random random(RandomName name, std::uint64_t item) const {
    return RandomStream::item(random_, name, item);
  }
  /// The phase of the event being handled.
  Phase phase() const { return Phase(phase_number()); }
  /// The end of the run (`--until`): events scheduled for this time or later are dropped.
  Time horizon() const { return horizon_; }

  /// Sends `event` to LP `destination`, to be handled `delay` from now. A zero delay is allowed:
  /// the event is handled after this one at the same time. Model faults: a negative delay, a time
  /// beyond the clock's range, a destination that does not exist.
  ///
  /// Events at one instant are handled by their phases. The event has the phase of its type
  /// (`static constexpr unsigned phase = 3;`) or of this call (`Phase(3)`); without one, the phase of
  /// this event if the delay is zero, else phase 0. Model fault: a zero delay and a phase before that
  /// of this event.
  ///
  /// A handler of an expanded event must use delays of at least `duration()`: a smaller one is a
  /// model fault.
  template <class E>
  void schedule(LpId destination, Duration delay, const E& event) {
    if constexpr (detail::check_event<E>()) {
      static_assert(event_payload_bytes<E> < detail::kPayloadBytesLimit,
                    "an event is less than 1 GiB");
      if constexpr (event_is_silent<E> || event_phase<E> != detail::kNoPhase)
        return send_parts(destination, delay, event_type_id<E>, detail::payload_parts(event));
      send(destination, delay, event_type_id<E>,
           (event_payload_bytes<E> << 2) | std::uint32_t{event_payload_is_hashed<E>}, &event);
    }
  }

  /// The same with any number of bytes, for packets, messages and lists whose length is known only
  /// at the send. The bytes are copied and enter the fingerprint. The receiver's handler takes them
  /// as a span:
  ///   void handle(orrery::Context& context, const Packet& packet, std::span<const std::byte>
  ///   bytes)
  /// The span starts at a multiple of 8 and is valid until the handler returns; it is empty if the
  /// event was sent without bytes. Model faults: an event of 1 GiB or more, bytes for a handler
  /// that takes none.
  template <class E>
  void schedule(LpId destination, Duration delay, const E& event,
                std::span<const std::byte> bytes) {
    if constexpr (detail::check_event<E>())
      send_parts(destination, delay, event_type_id<E>, detail::payload_parts(event, bytes));
  }
  template <class E>
  void schedule(LpId destination, Duration delay, const E& event, Phase phase,
                std::span<const std::byte> bytes = {}) {
    if constexpr (detail::check_event<E>())
      send_parts(destination, delay, event_type_id<E>, in_phase(phase, event, bytes));
  }

  /// Sets a timer: sends `event` to this LP, to be handled `delay` from now unless it is cancelled
  /// before. The returned value names the timer; keep it in the LP's state. Timers and other events
  /// share one order. Model faults: as with `schedule`.
  template <class E>
  Timer schedule_timer(Duration delay, const E& event, std::span<const std::byte> bytes = {}) {
    if constexpr (detail::check_event<E>())
      return send_timer(delay, event_type_id<E>, detail::payload_parts(event, bytes));
    return Timer();
  }
  template <class E>
  Timer schedule_timer(Duration delay, const E& event, Phase phase,
                       std::span<const std::byte> bytes = {}) {
    if constexpr (detail::check_event<E>())
      return send_timer(delay, event_type_id<E>, in_phase(phase, event, bytes));
    return Timer();
  }
  /// Cancels a timer: its event is not handled. Returns true if the timer was live, that is set,
  /// and neither fired nor cancelled; a timer at or after the end of the run is live, too. While a
  /// timer's event is being handled, the timer is no longer live. O(1). Model fault: another LP has
  /// set the timer.
  ///
  /// An event at another LP cannot be cancelled, since that LP may already have handled it: send
  /// another event that says so.
  bool cancel(const Timer& timer);

  /// Catches calls with wrong argument types and explains them in one sentence.
  template <class Destination, class Delay, class E>
  requires(!std::is_convertible_v<Destination, LpId> ||
           !std::is_convertible_v<Delay, Duration>) void schedule(Destination, Delay, const E&) {
    static_assert(
        std::is_convertible_v<Destination, LpId> && std::is_convertible_v<Delay, Duration>,
        "schedule(destination, delay, event): the destination is the number of an LP, "
        "the delay an orrery::Duration such as orrery::Duration::seconds(1)");
  }

  /// For models with reverse handlers (orrery/reverse.h): stores a value for the event's reverse().
  /// Does nothing in a run without reverse handlers.
  template <class T>
  void remember(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>,
                  "remember() takes values that are trivially copyable, one member at a time");
    if (reversing_) remember_bytes(&value, sizeof value);
  }

  /// Sends an expanded event: it starts `delay` from now and lasts `duration`, 0 or more. Its start
  /// is its place in the order of events; the same handler serves it. Its own sends arrive at its
  /// end or later. Results are the same on all engines; the engine `expanded` executes in parallel
  /// the events that start before the earliest end of the events in progress. Model faults: as with
  /// `schedule`, a negative duration, an end beyond the clock's range. At most 64 KiB.
  template <class E>
  void schedule_expanded(LpId destination, Duration delay, Duration duration, const E& event,
                         std::span<const std::byte> bytes = {}) {
    if constexpr (detail::check_event<E>())
      send_expanded<E>(destination, delay, duration, detail::payload_parts(event, bytes));
  }
  template <class E>
  void schedule_expanded(LpId destination, Duration delay, Duration duration, const E& event,
                         Phase phase, std::span<const std::byte> bytes = {}) {
    if constexpr (detail::check_event<E>())
      send_expanded<E>(destination, delay, duration, in_phase(phase, event, bytes));
  }

  /// Duration of the event being handled; zero for an ordinary event.
  Duration duration() const { return minimum_delay_; }
  /// End of the event being handled: now() + duration(), the earliest time of its sends.
  Time end() const { return now_ + minimum_delay_; }

  /// Ends the run with a model fault whose text is `why` (if this event commits).
  [[noreturn]] void fail(std::string_view why) const;

  /// Adds bytes to the fingerprint, for effects of an LP that are neither events nor rows.
  void hash_bytes(std::span<const std::byte> bytes);

 protected:
  ~Context() = default;
  /// `size_word`: payload bytes * 4 + 2 if it has a trailer + 1 if the bytes enter the fingerprint.
  virtual void send(LpId destination, Duration delay, EventTypeId type, std::uint32_t size_word,
                    const void* payload) = 0;
  /// The same for a payload in parts; joins them and calls send() unless overridden.
  virtual void send_parts(LpId destination, Duration delay, EventTypeId type,
                          const detail::PayloadParts& parts);
  virtual void remember_bytes(const void* value, std::size_t bytes);
  virtual unsigned phase_number() const { return 0; }

  /// Removes a live timer from the LP's live timers.
  void end_timer(std::uint32_t place);

  Random random_;
  Time horizon_ = Time::max();
  Duration minimum_delay_;              // of sends: the duration of the event being handled
  std::uint64_t sends_ = 0;             // by the LP so far
  std::uint64_t cancelled_timers_ = 0;  // by this context, including calls that were rolled back

 private:
  struct Saver;
  Timer send_timer(Duration delay, EventTypeId type, detail::PayloadParts parts);
  template <class E>
  static detail::PayloadParts in_phase(Phase phase, const E& event,
                                       std::span<const std::byte> bytes) {
    detail::PayloadParts parts = detail::payload_parts(event, bytes);
    parts.phase = static_cast<std::int8_t>(phase.number());
    return parts;
  }
  template <class E>
  void send_expanded(LpId destination, Duration delay, Duration duration,
                     detail::PayloadParts&& parts) {
    static_assert(event_payload_bytes<E> <= detail::kExpandedBytesLimit,
                  "an expanded event is at most 64 KiB; let a larger one carry what it needs in an "
                  "ordinary event");
    static_assert(!event_is_silent<E>, "a silent event has no duration");
    check_duration(destination, delay, duration);
    parts.has_trailer = true;
    parts.trailer = duration.ticks();
    send_parts(destination, delay, event_type_id<E>, parts);
  }
  void check_duration(LpId destination, Duration delay, Duration duration) const {
    std::int64_t start, end;
    const bool fits = __builtin_add_overflow(now_.ticks(), delay.ticks(), &start) ||
                      (!__builtin_add_overflow(start, duration.ticks(), &end) &&
                       end != Time::max().ticks());  // send() refuses a start beyond the range
    if (duration.ticks() < 0 || !fits) [[unlikely]]
      refuse_duration(destination, delay, duration);
  }
  [[noreturn]] void refuse_duration(LpId destination, Duration delay, Duration duration) const;
};

/// The context of finish(), called once for each LP, in LP order, after the last committed event.
class FinalContext : public OutputContext {
 public:
  /// Records a value that the LP itself has counted since time `since`. If the metric is observed
  /// only from a later time on (`Metric::observe_from`: a warm-up), the value is not recorded, and
  /// the run reports the omission.
  void record(const Metric& metric, double value, Time since = Time::zero());

  /// Adds a value of the final state to the fingerprint.
  template <class T>
  void state(const T& value) {
    constexpr bool comparable =
        std::is_arithmetic_v<T> || std::has_unique_object_representations_v<T>;
    static_assert(comparable,
                  "state() takes numbers and structs whose equal values have equal bytes (no "
                  "padding, no floating point, no pointers to what matters): call it for each "
                  "member or element");
    if constexpr (comparable) add_state(&value, sizeof value);
  }

 protected:
  ~FinalContext() = default;
  void add_state(const void* bytes, std::size_t size);
  /// Called when a value of the metric is not recorded.
  virtual void leave_out(const Metric& metric) = 0;
};

/// For a long loop in a handler that makes no other call of the platform: a point where an engine
/// can interrupt the handler because an earlier event has arrived. Costs about a nanosecond.
/// Optional: without it a signal interrupts the handler some microseconds later.
void poll() noexcept;

}  // namespace orrery
