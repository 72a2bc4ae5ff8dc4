// SPDX-License-Identifier: Apache-2.0
//
// Processes: the life of a customer, a job or a machine as one function that waits where simulation
// time passes (the process interaction of Simula, SimPy and others; Birtwistle, Dahl, Myhrhaug and
// Nygaard, "Simula Begin", 1973). An LP may have any number of processes:
//
//   class Shop final : public orrery::ProcessLp<Shop, Order> {
//    public:
//     void begin() override { spawn(customers()); }
//     void handle(const Order& order) { orders_.put(order); }
//
//    private:
//     orrery::Process customers() {
//       for (;;) {
//         co_await delay(random().exponential(Duration::minutes(2)));
//         spawn(customer());
//       }
//     }
//     orrery::Process customer() {
//       const orrery::Server clerk = co_await clerks_.acquire();
//       co_await delay(random().exponential(Duration::minutes(3)));
//     }
//     orrery::Servers clerks_{2};
//     orrery::Mailbox<Order> orders_;
//   };
//
// A process waits with co_await for: delay(d), ended(process), Signal::wait(), Mailbox::receive(),
// Servers::acquire(), PreemptiveServers::work(), Container::get() and put(), any_of() and all_of()
// these, and another coroutine that returns a Process, which it thereby calls.
//
// Processes run on every engine, since the state of a process is memory of its LP. A context, in
// contrast, belongs to one event: a reference kept over a wait would refer to the context of
// another event, or dangle. Therefore begin() and handlers of such an LP get no context, and its
// members now(), schedule(), random() and so on use the context of the current event. Their results
// may be kept.
//
// Processes cannot be undone by reverse handlers (orrery/reverse.h): a coroutine frame cannot run
// backwards.
#pragma once

#include <concepts>
#include <cstddef>
#include <span>

#include "orrery/context.h"
#include "orrery/logical_process.h"
#include "orrery/process_container.h"
#include "orrery/process_groups.h"
#include "orrery/process_host.h"
#include "orrery/process_mailbox.h"
#include "orrery/process_servers.h"
#include "orrery/process_waits.h"
#include "orrery/process_work.h"
#include "orrery/reverse.h"

namespace orrery {

/// The base of an LP with processes: as LogicalProcess, but begin() instead of start(), and
/// handlers without a context: `void handle(const Order& order)`, or with the bytes behind the
/// struct, `void handle(const Order& order, std::span<const std::byte> bytes)`. The processes need
/// no event type of their own.
///
/// Processes that have not ended when the LP is destroyed are destroyed after the members of
/// `Derived`.
template <class Derived, class... Events>
class ProcessLp : public LogicalProcess<ProcessLp<Derived, Events...>, ProcessWake, Events...>,
                  public ProcessHost {
  template <class E>
  static constexpr bool takes_event() {
    return requires(Derived & derived, const E& event) {
      derived.handle(event);
    };
  }
  template <class E>
  static constexpr bool takes_bytes() {
    return requires(Derived & derived, const E& event, std::span<const std::byte> bytes) {
      derived.handle(event, bytes);
    };
  }

 public:
  /// Called once at time 0, before every event.
  virtual void begin() {}

  void start(Context& context) final {
    in_event(context, [this] { begin(); });
  }
  void handle(Context& context, const ProcessWake& event) {
    in_event(context, [&] { wake(event); });
  }
  template <std::same_as<Context> C, class E>
  requires(takes_event<E>() || !takes_bytes<E>()) void handle(C& context, const E& event) {
    static_assert(takes_event<E>(),
                  "an event type in the list of this LP has no handler: write 'public: void "
                  "handle(const E& event)' with E for the event type, without a context");
    check_reverse<E>();
    if constexpr (takes_event<E>())
      in_event(context, [&] { static_cast<Derived&>(*this).handle(event); });
  }
  template <std::same_as<Context> C, class E>
  requires(takes_bytes<E>()) void handle(C& context, const E& event,
                                         std::span<const std::byte> bytes) {
    check_reverse<E>();
    in_event(context, [&] { static_cast<Derived&>(*this).handle(event, bytes); });
  }

 private:
  template <class E>
  static constexpr void check_reverse() {
    constexpr bool has_reverse =
        requires(Derived & derived, ReverseContext & context, const E& event) {
      derived.reverse(context, event);
    };
    static_assert(!has_reverse,
                  "processes cannot be undone by reverse handlers: an LP that has the one does "
                  "without the other");
  }
};

}  // namespace orrery
