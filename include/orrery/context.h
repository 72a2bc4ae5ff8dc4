// SPDX-License-Identifier: Apache-2.0
//
// What a handler sees of the run. A handler may be called speculatively, rolled back and called
// again; whatever it does through its context or to its own LP's memory is undone with it.
//
// Expanded events, events with a duration, follow G. Kunz, O. Landsiedel, S. Goetz, K. Wehrle, J.
// Gross and F. Naghibi, "Expanding the event horizon in parallelized network simulations", MASCOTS
// 2010: what an event does takes from its start to its end, so what it causes happens at its end or
// later, and an engine may use that to run other events meanwhile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

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

/// What start(), handlers and finish() have in common: the clock, the name, and what they report.
class OutputContext {
 public:
  OutputContext(const OutputContext&) = delete;
  OutputContext& operator=(const OutputContext&) = delete;

  /// Simulation time of the event being handled; of an expanded event its start.
  Time now() const { return now_; }
  /// The LP that handles it.
  LpId self() const { return self_; }
  /// LPs in the model.
  LpId lp_count() const { return lp_count_; }

  /// Adds a value to a metric. Model fault: it is a level.
  void record(const Metric& metric, double value);
  /// A level of this LP (Keep::level) has this value from now on. Its time begins with the first
  /// call and ends with the run; what is set several times at one time counts as set last. Model
  /// fault: the metric keeps values.
  void level(const Metric& metric, double value);

  /// Adds a row to a table: as many values as it has columns, in their order, integers for integer
  /// columns, floating point for real ones, for text columns whatever a std::string_view can be
  /// made from. A mismatch is a model fault, and so are more than 4096 bytes of text in a row.
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

 protected:
  OutputContext() = default;
  ~OutputContext() = default;
  virtual void append_row(const Table& table, std::span<const std::uint64_t> cells) = 0;
  /// Called before `bytes` at `address`, in the LP's memory, change, if `reversing_`.
  virtual void save_before(const void* address, std::size_t bytes);
  /// What a metric counts once it commits.
  virtual void observe(const Observation& observation);
  /// What the platform keeps for the LP in the LP's memory; made when it is needed first.
  Ledger& ledger();

  Time now_;
  LpId self_ = 0;
  LpId lp_count_ = 0;
  std::uint32_t metric_bytes_ = 0;  // of what it keeps of all metrics
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
  void tally(const Metric& metric, double value, double before);
  void emit_numbers(const Table& table, std::span<const std::uint64_t> cells,
                    detail::ValueKinds kinds);
  void emit_texts(const Table& table, std::span<const std::uint64_t> cells,
                  std::span<const std::string_view> texts, detail::ValueKinds kinds);
  void add_row(const Table& table, std::span<const std::uint64_t> cells);
};

/// What a handler sees.
class Context : public OutputContext {
 public:
  /// The LP's own random stream (see orrery/random.h).
  Random& random() { return random_; }
  /// A named stream that is a member of the LP (see orrery/random_stream.h). It goes on where it
  /// stopped in the event before.
  Random& random(RandomStream& stream) {
    if (reversing_) [[unlikely]]
      save_before(&stream, sizeof stream);
    return stream.belonging_to(random_);
  }
  /// The numbers that the LP's stream of this name has for an item that the model numbers itself
  /// (a customer, a call, a day), from their first on. Nothing is kept, so call it once an item, or
  /// keep the value. Throws for 2^36 and above.
  Random random(RandomName name, std::uint64_t item) const {
    return RandomStream::item(random_, name, item);
  }
  /// The end of the run (`--until`): what is sent for then or later is dropped.
  Time horizon() const { return horizon_; }

  /// Sends `event` to LP `destination`, to be handled `delay` from now. A zero delay is allowed:
  /// the event is handled after this one at the same time. Model faults: a negative delay, a time
  /// beyond the clock's range, a destination that does not exist.
  ///
  /// A handler of an expanded event must use delays of at least `duration()`: a smaller one is a
  /// model fault.
  template <class E>
  void schedule(LpId destination, Duration delay, const E& event) {
    if constexpr (detail::check_event<E>()) {
      static_assert(event_payload_bytes<E> < detail::kPayloadBytesLimit,
                    "an event is less than 1 GiB");
      if constexpr (event_is_silent<E>)
        return send_parts(destination, delay, event_type_id<E>, detail::payload_parts(event));
      send(destination, delay, event_type_id<E>,
           (event_payload_bytes<E> << 2) | std::uint32_t{event_payload_is_hashed<E>}, &event);
    }
  }

  /// The same with bytes, of any number: packets, messages, lists whose length is known when they
  /// are sent. They are copied, and are part of the fingerprint. The receiver's handler takes them:
  ///   void handle(orrery::Context& context, const Packet& packet, std::span<const std::byte>
  ///   bytes)
  /// where they lie at a multiple of 8 and are gone when it returns. An event of that type that was
  /// sent without bytes comes with none. Model faults: an event of 1 GiB or more, bytes for a
  /// handler that takes none.
  template <class E>
  void schedule(LpId destination, Duration delay, const E& event,
                std::span<const std::byte> bytes) {
    if constexpr (detail::check_event<E>())
      send_parts(destination, delay, event_type_id<E>, detail::payload_parts(event, bytes));
  }

  /// Sets a timer: sends `event` to this LP, to be handled `delay` from now unless it is cancelled
  /// before. The value says which it is; keep it in the LP's state. Timers and other events are in
  /// one order. Model faults: as with `schedule`.
  template <class E>
  Timer schedule_timer(Duration delay, const E& event, std::span<const std::byte> bytes = {}) {
    if constexpr (detail::check_event<E>())
      return send_timer(delay, event_type_id<E>, detail::payload_parts(event, bytes));
    return Timer();
  }
  /// Takes a timer back: its event is not handled. True if it was live, that is set, and neither
  /// fired nor cancelled; a timer whose time lies at or after the end of the run is live, too. The
  /// event that a timer has sent is no timer any more while it is handled. Costs O(1). Model fault:
  /// another LP has set it.
  ///
  /// An event at another LP cannot be taken back, since that LP may have handled it rightly: send
  /// another that says so.
  bool cancel(const Timer& timer);

  /// Not these arguments: says so in one sentence.
  template <class Destination, class Delay, class E>
  requires(!std::is_convertible_v<Destination, LpId> ||
           !std::is_convertible_v<Delay, Duration>) void schedule(Destination, Delay, const E&) {
    static_assert(
        std::is_convertible_v<Destination, LpId> && std::is_convertible_v<Delay, Duration>,
        "schedule(destination, delay, event): the destination is the number of an LP, "
        "the delay an orrery::Duration such as orrery::Duration::seconds(1)");
  }

  /// For models with reverse handlers (orrery/reverse.h): leaves a value for the event's reverse.
  /// Does nothing where the run does not use them.
  template <class T>
  void remember(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>,
                  "remember() takes values that are trivially copyable, one member at a time");
    if (reversing_) remember_bytes(&value, sizeof value);
  }

  /// Sends an expanded event: it starts `delay` from now and lasts `duration`, 0 or more. Its place
  /// in the order of events is that of its start; the same handler serves it. What it sends leaves
  /// at its end or later. Results are the same on all engines; the engine `expanded` executes what
  /// starts before the earliest end of the events in progress at the same time. Model faults: as
  /// with `schedule`, a negative duration, an end beyond the clock's range. At most 64 KiB.
  template <class E>
  void schedule_expanded(LpId destination, Duration delay, Duration duration, const E& event,
                         std::span<const std::byte> bytes = {}) {
    if constexpr (detail::check_event<E>()) {
      static_assert(event_payload_bytes<E> <= detail::kExpandedBytesLimit,
                    "an expanded event is at most 64 KiB; let a larger one carry what it needs in "
                    "an ordinary event");
      static_assert(!event_is_silent<E>, "a silent event has no duration");
      check_duration(destination, delay, duration);
      detail::PayloadParts parts = detail::payload_parts(event, bytes);
      parts.has_trailer = true;
      parts.trailer = duration.ticks();
      send_parts(destination, delay, event_type_id<E>, parts);
    }
  }

  /// How long the event being handled lasts; zero for an ordinary one.
  Duration duration() const { return minimum_delay_; }
  /// When it ends: now() + duration(), the earliest time of what it sends.
  Time end() const { return now_ + minimum_delay_; }

  /// Ends the run with a model fault that says `why` (if this event commits).
  [[noreturn]] void fail(std::string_view why) const;

  /// Enters bytes into the fingerprint: for what an LP does that is neither an event nor a row.
  void hash_bytes(std::span<const std::byte> bytes);

 protected:
  ~Context() = default;
  /// `size_word`: payload bytes * 4 + 2 if it has a trailer + 1 if the bytes enter the fingerprint.
  virtual void send(LpId destination, Duration delay, EventTypeId type, std::uint32_t size_word,
                    const void* payload) = 0;
  /// The same of a payload in parts; puts it together and calls the one above unless overridden.
  virtual void send_parts(LpId destination, Duration delay, EventTypeId type,
                          const detail::PayloadParts& parts);
  virtual void remember_bytes(const void* value, std::size_t bytes);

  /// Takes a timer out of the live ones, which it is among.
  void end_timer(std::uint32_t place);

  Random random_;
  Time horizon_ = Time::max();
  Duration minimum_delay_;              // of what is sent: the duration of the event being handled
  std::uint64_t sends_ = 0;             // of the LP so far
  std::uint64_t cancelled_timers_ = 0;  // by this context, also those that were rolled back

 private:
  struct Saver;
  Timer send_timer(Duration delay, EventTypeId type, detail::PayloadParts parts);
  void check_duration(LpId destination, Duration delay, Duration duration) const {
    std::int64_t start, end;
    const bool fits = __builtin_add_overflow(now_.ticks(), delay.ticks(), &start) ||
                      (!__builtin_add_overflow(start, duration.ticks(), &end) &&
                       end != Time::max().ticks());  // a start beyond the range is send's to refuse
    if (duration.ticks() < 0 || !fits) [[unlikely]]
      refuse_duration(destination, delay, duration);
  }
  [[noreturn]] void refuse_duration(LpId destination, Duration delay, Duration duration) const;
};

/// What `finish` sees: the LP's last state, once, after the last committed event, in LP order.
class FinalContext : public OutputContext {
 public:
  /// Records what the LP has counted itself from `since` on. If the metric is to leave out more
  /// than that (`Metric::observed_from`: a warm-up), the value is not recorded, and the run says
  /// so.
  void record(const Metric& metric, double value, Time since = Time::zero());

  /// Enters a value of the final state into the fingerprint.
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
  /// A value of the metric was not recorded.
  virtual void leave_out(const Metric& metric) = 0;
};

/// For a long loop in a handler that calls nothing else of the platform: a place where the handler
/// can be interrupted if something earlier has come. Costs about a nanosecond. Not needed: without
/// it a signal does the same, some microseconds later.
void poll() noexcept;

}  // namespace orrery
