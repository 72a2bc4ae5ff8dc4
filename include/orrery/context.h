// SPDX-License-Identifier: Apache-2.0
//
// What a handler sees of the run. A handler may be called speculatively, rolled back and called
// again; whatever it does through its context or to its own LP's memory is undone with it.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include "orrery/event.h"
#include "orrery/random.h"
#include "orrery/results.h"
#include "orrery/time.h"

namespace orrery {

class LogicalProcessBase;

/// What start(), handlers and finish() have in common: the clock, the name, and what they report.
class OutputContext {
 public:
  OutputContext(const OutputContext&) = delete;
  OutputContext& operator=(const OutputContext&) = delete;

  /// Simulation time of the event being handled.
  Time now() const { return now_; }
  /// The LP that handles it.
  LpId self() const { return self_; }
  /// LPs in the model.
  LpId lp_count() const { return lp_count_; }

  /// Adds a value to a metric.
  void record(const Metric& metric, double value);

  /// Adds a row to a table: as many values as it has columns, in their order, integers for integer
  /// columns. A mismatch is a model fault.
  template <class... Values>
  requires(std::is_arithmetic_v<Values>&&...) void emit(const Table& table, Values... values) {
    const std::uint64_t cells[] = {cell(values)...};
    constexpr std::uint32_t integers = integer_mask<Values...>();
    emit_cells(table, cells, integers);
  }

 protected:
  OutputContext() = default;
  ~OutputContext() = default;
  virtual void append_row(const Table& table, std::span<const std::uint64_t> cells) = 0;
  /// Called before `bytes` at `address`, in the LP's memory, change, if `reversing_`.
  virtual void save_before(const void* address, std::size_t bytes);

  Time now_;
  LpId self_ = 0;
  LpId lp_count_ = 0;
  std::uint32_t metric_count_ = 0;
  bool reversing_ = false;  // the event may be undone by its reverse handler
  LogicalProcessBase* lp_ = nullptr;
  std::uint64_t hash_ = 0;  // the LP's running fingerprint

 private:
  template <class V>
  static std::uint64_t cell(V value) {
    std::uint64_t bits = 0;
    if constexpr (std::is_floating_point_v<V>) {
      const double wide = value;
      std::memcpy(&bits, &wide, sizeof bits);
    } else {
      bits = static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
    }
    return bits;
  }
  template <class... Values>
  static constexpr std::uint32_t integer_mask() {
    std::uint32_t mask = 0, bit = 1;
    ((mask |= std::is_integral_v<Values> ? bit : 0u, bit <<= 1), ...);
    return mask;
  }
  void emit_cells(const Table& table, std::span<const std::uint64_t> cells, std::uint32_t integers);
};

/// What a handler sees.
class Context : public OutputContext {
 public:
  /// The LP's own random stream (see orrery/random.h).
  Random& random() { return random_; }

  /// Sends `event` to LP `destination`, to be handled `delay` from now. A zero delay is allowed:
  /// the event is handled after this one at the same time. Model faults: a negative delay, a time
  /// beyond the clock's range, a destination that does not exist.
  template <EventPayload E>
  void schedule(LpId destination, Duration delay, const E& event) {
    send(destination, delay, event_type_id<E>,
         (event_payload_bytes<E> << 1) | std::uint32_t{event_payload_is_hashed<E>}, &event);
  }

  /// For models with reverse handlers (orrery/reverse.h): leaves a value for the event's reverse.
  /// Does nothing where the run does not use them.
  template <class T>
  requires(std::is_trivially_copyable_v<T>) void remember(const T& value) {
    if (reversing_) remember_bytes(&value, sizeof value);
  }

  /// Ends the run with a model fault that says `why` (if this event commits).
  [[noreturn]] void fail(std::string_view why) const;

 protected:
  ~Context() = default;
  /// `size_word`: payload bytes * 2 + whether they enter the fingerprint.
  virtual void send(LpId destination, Duration delay, EventTypeId type, std::uint32_t size_word,
                    const void* payload) = 0;
  virtual void remember_bytes(const void* value, std::size_t bytes);

  Random random_;
};

/// What `finish` sees: the LP's last state, once, after the last committed event, in LP order.
class FinalContext : public OutputContext {
 public:
  /// Enters a value of the final state into the fingerprint.
  template <class T>
  requires(std::is_arithmetic_v<T> ||
           std::has_unique_object_representations_v<T>) void state(const T& value) {
    add_state(&value, sizeof value);
  }

 protected:
  ~FinalContext() = default;
  void add_state(const void* bytes, std::size_t size);
};

}  // namespace orrery
