// SPDX-License-Identifier: Apache-2.0
//
// The base class of logical processes (LPs). An LP is a class with one `handle` overload for each
// of its event types. The types are listed once, as template arguments, so that dispatch compiles
// to a chain of integer comparisons, and a missing overload is a compile error:
//
//   struct Arrival { int customers; };
//   struct Departure {};
//   class Desk : public orrery::LogicalProcess<Desk, Arrival, Departure> {
//    public:
//     void start(orrery::Context& context) override;
//     void handle(orrery::Context& context, const Arrival& arrival);
//     void handle(orrery::Context& context, const Departure& departure);
//   };
//
// The state of an LP is everything in its class: containers, strings, pointers to memory that it
// allocated. It must not refer to other LPs or to memory that other LPs change; the model object is
// shared and constant.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "orrery/context.h"
#include "orrery/event.h"
#include "orrery/reverse.h"

namespace orrery {

class LogicalProcessBase {
 public:
  LogicalProcessBase() = default;
  LogicalProcessBase(const LogicalProcessBase&) = delete;
  LogicalProcessBase& operator=(const LogicalProcessBase&) = delete;
  virtual ~LogicalProcessBase();

  /// Called once at time 0, before every event, to send the first events.
  virtual void start(Context&) {}
  /// Called once after the last committed event: reports the final state.
  virtual void finish(FinalContext&) {}

  /// For engines; models do not call the functions from here on.
  /// Returns false if this LP has no handler for the type.
  /// `bytes`: size of the payload without a trailer.
  virtual bool dispatch(Context& context, EventTypeId type, const void* payload,
                        std::size_t bytes) = 0;
  /// Empty if this LP has no handler for the type.
  virtual std::string_view event_name(EventTypeId type) const = 0;
  /// Whether the class has reverse handlers (orrery/reverse.h).
  virtual bool reversible() const = 0;
  /// Undoes an event by its reverse handler.
  virtual void dispatch_reverse(ReverseContext& context, EventTypeId type, const void* payload,
                                std::size_t bytes) = 0;

 private:
  friend class OutputContext;
  friend struct LogicalProcessAccess;
  Ledger* ledger_ = nullptr;  // in the LP's own memory, so that rollback restores it
};

template <class Derived, class... Events>
class LogicalProcess : public LogicalProcessBase {
  // Code that depends on a mistake is not compiled, so that each mistake gives one message.
  static_assert(sizeof...(Events) > 0,
                "list the event types that the LP handles: orrery::LogicalProcess<Desk, Arrival, "
                "Departure>");
  static constexpr bool kEvents = (detail::check_event<Events>() && ...) && sizeof...(Events) > 0;

 public:
  bool dispatch(Context& context, EventTypeId type, const void* payload, std::size_t bytes) final {
    if constexpr (is_sound()) {
      static_assert(distinct_types(), "two event types of this LP have the same name hash");
      return (dispatch_one<Events>(context, type, payload, bytes) || ...);
    }
    return false;
  }
  std::string_view event_name(EventTypeId type) const final {
    std::string_view name;
    if constexpr (kEvents)
      ((type == event_type_id<Events> ? (name = event_type_name<Events>, true) : false) || ...);
    return name;
  }
  bool reversible() const final {
    if constexpr (is_sound()) {
      static_assert((has_reverse<Events>() || ...) == (has_reverse<Events>() && ...),
                    "some event types of this LP have a reverse() and some have none");
      return (has_reverse<Events>() && ...);
    }
    return false;
  }
  void dispatch_reverse(ReverseContext& context, EventTypeId type, const void* payload,
                        std::size_t bytes) final {
    if constexpr (is_sound())
      if constexpr ((has_reverse<Events>() && ...))
        (reverse_one<Events>(context, type, payload, bytes), ...);
  }

 private:
  /// Valid only where the class of the LP is complete.
  static constexpr bool is_sound() {
    if constexpr (!kEvents) {
      return false;
    } else if constexpr (!std::is_base_of_v<LogicalProcess, Derived>) {
      static_assert(
          std::is_base_of_v<LogicalProcess, Derived>,
          "the first argument of orrery::LogicalProcess is the LP's own class: class Desk "
          ": public orrery::LogicalProcess<Desk, ...>");
      return false;
    } else {
      return (check_handler<Events>() && ...);
    }
  }
  template <class E>
  static constexpr bool check_handler() {
    constexpr bool plain = requires(Derived & derived, Context & context, const E& event) {
      derived.handle(context, event);
    };
    constexpr bool has_handler = plain || takes_bytes<E>();
    static_assert(has_handler,
                  "an event type in the list of this LP has no handler: write 'public: void "
                  "handle(orrery::Context& context, const E& event)' with E for the event type");
    static_assert(!plain || !takes_bytes<E>(),
                  "an event type of this LP has two handlers, with bytes and without: one serves "
                  "both, since an event that was sent without bytes has none");
    return has_handler;
  }
  template <class E>
  static constexpr bool takes_bytes() {
    return requires(Derived & derived, Context & context, const E& event,
                    std::span<const std::byte> bytes) {
      derived.handle(context, event, bytes);
    };
  }
  template <class E>
  static constexpr bool reverse_takes_bytes() {
    return requires(Derived & derived, ReverseContext & context, const E& event,
                    std::span<const std::byte> bytes) {
      derived.reverse(context, event, bytes);
    };
  }
  template <class E>
  static constexpr bool has_reverse() {
    constexpr bool plain = requires(Derived & derived, ReverseContext & context, const E& event) {
      derived.reverse(context, event);
    };
    return plain || reverse_takes_bytes<E>();
  }
  template <class E>
  bool dispatch_one(Context& context, EventTypeId type, const void* payload, std::size_t bytes) {
    if (type != event_type_id<E>) return false;
    auto& derived = static_cast<Derived&>(*this);
    if constexpr (takes_bytes<E>()) {
      const auto behind = detail::bytes_behind(payload, event_payload_bytes<E>, bytes);
      // If the struct does not enter the fingerprint, the sender has not hashed the bytes behind it
      // either.
      if constexpr (!event_payload_is_hashed<E> && !std::is_empty_v<E> && !event_is_silent<E>)
        context.hash_bytes(behind);
      with_event<E>(payload, [&](const E& event) { derived.handle(context, event, behind); });
    } else {
      if (bytes > event_payload_bytes<E>) [[unlikely]]
        detail::refuse_bytes(event_payload_bytes<E>, bytes);
      with_event<E>(payload, [&](const E& event) { derived.handle(context, event); });
    }
    return true;
  }
  template <class E>
  void reverse_one(ReverseContext& context, EventTypeId type, const void* payload,
                   std::size_t bytes) {
    if (type != event_type_id<E>) return;
    auto& derived = static_cast<Derived&>(*this);
    if constexpr (reverse_takes_bytes<E>()) {
      const auto behind = detail::bytes_behind(payload, event_payload_bytes<E>, bytes);
      with_event<E>(payload, [&](const E& event) { derived.reverse(context, event, behind); });
    } else {
      with_event<E>(payload, [&](const E& event) { derived.reverse(context, event); });
    }
  }
  template <class E, class Action>
  static void with_event(const void* payload, Action&& action) {
    if constexpr (std::is_empty_v<E>) {
      action(E{});
    } else if constexpr (alignof(E) > 8) {  // payloads lie at multiples of 8
      E aligned;
      std::memcpy(static_cast<void*>(&aligned), payload, sizeof(E));
      action(aligned);
    } else {
      action(*static_cast<const E*>(payload));
    }
  }
  static constexpr bool distinct_types() {
    constexpr EventTypeId ids[] = {event_type_id<Events>..., 0};
    for (std::size_t i = 0; i < sizeof...(Events); ++i)
      for (std::size_t j = i + 1; j < sizeof...(Events); ++j)
        if (ids[i] == ids[j]) return false;
    return true;
  }
};

}  // namespace orrery
