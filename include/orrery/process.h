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
// Servers::acquire(), and another coroutine that returns a Process, which it thereby calls.
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
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "orrery/context.h"
#include "orrery/logical_process.h"
#include "orrery/process_frame.h"
#include "orrery/process_kernel.h"
#include "orrery/process_mailbox.h"
#include "orrery/process_servers.h"
#include "orrery/process_waits.h"
#include "orrery/random_stream.h"
#include "orrery/reverse.h"

namespace orrery {

/// The functions that an LP with processes may call in begin(), handlers and processes; classes
/// that are parts of the LP may call them through a reference to the LP. Elsewhere (constructor,
/// finish()) they throw std::logic_error.
class ProcessHost {
 public:
  // ---- Processes

  /// Makes a process. It begins later in this event, after the processes that were woken before.
  ProcessRef spawn(Process process) { return kernel_.spawn(std::move(process)); }
  /// Throws an Interrupted in the process where it waits, or, if it does not wait, at its next
  /// wait. A wait that has already ended is not revoked. Returns false if the process has ended.
  bool interrupt(ProcessRef process, std::uint64_t reason = 0) {
    return kernel_.interrupt(process, reason);
  }
  bool is_alive(ProcessRef process) const { return kernel_.find(process) != nullptr; }
  /// The calling process; in begin() and handlers no process.
  ProcessRef this_process() const { return kernel_.running(); }
  /// Number of processes that have not ended.
  std::uint64_t process_count() const { return kernel_.process_count(); }

  // ---- As in orrery/context.h

  Time now() const { return context().now(); }
  Phase phase() const { return context().phase(); }
  LpId self() const { return context().self(); }
  LpId lp_count() const { return context().lp_count(); }
  Time horizon() const { return context().horizon(); }

  /// The LP's stream "process", which continues from event to event. The reference may be kept over
  /// a wait, as may that of the next function; after a fork the new seed takes effect with the next
  /// call.
  Random& random() { return context().random(stream_); }
  Random& random(RandomStream& stream) { return context().random(stream); }
  Random random(RandomName name, std::uint64_t item) const { return context().random(name, item); }

  void record(const Metric& metric, double value) { context().record(metric, value); }
  void level(const Metric& metric, double value) { context().level(metric, value); }
  void record_wait(const ResourceMetrics& metrics, Duration waited) {
    metrics.record_wait(context(), waited);
  }
  template <class... Values>
  void emit(const Table& table, Values... values) {
    context().emit(table, values...);
  }
  void capture(const Capture& interface, std::span<const std::byte> bytes) {
    context().capture(interface, bytes);
  }

  template <class E>
  void schedule(LpId destination, Duration delay, const E& event,
                std::span<const std::byte> bytes = {}) {
    if (bytes.empty()) return context().schedule(destination, delay, event);
    context().schedule(destination, delay, event, bytes);
  }
  template <class E>
  void schedule(LpId destination, Duration delay, const E& event, Phase phase,
                std::span<const std::byte> bytes = {}) {
    context().schedule(destination, delay, event, phase, bytes);
  }
  template <class E>
  void schedule_expanded(LpId destination, Duration delay, Duration duration, const E& event,
                         std::span<const std::byte> bytes = {}) {
    context().schedule_expanded(destination, delay, duration, event, bytes);
  }
  template <class E>
  void schedule_expanded(LpId destination, Duration delay, Duration duration, const E& event,
                         Phase phase, std::span<const std::byte> bytes = {}) {
    context().schedule_expanded(destination, delay, duration, event, phase, bytes);
  }
  template <class E>
  Timer schedule_timer(Duration delay, const E& event, std::span<const std::byte> bytes = {}) {
    return context().schedule_timer(delay, event, bytes);
  }
  template <class E>
  Timer schedule_timer(Duration delay, const E& event, Phase phase,
                       std::span<const std::byte> bytes = {}) {
    return context().schedule_timer(delay, event, phase, bytes);
  }
  bool cancel(const Timer& timer) { return context().cancel(timer); }
  [[noreturn]] void fail(std::string_view why) const { context().fail(why); }
  void hash_bytes(std::span<const std::byte> bytes) { context().hash_bytes(bytes); }

  /// Calls `action(context)`, for functions of Context that are not listed here. The context is
  /// valid only until `action` returns.
  template <class Action>
  decltype(auto) with_context(Action&& action) {
    return std::forward<Action>(action)(context());
  }

 protected:
  ProcessHost() = default;
  ~ProcessHost() = default;

  /// Executes `action` in an event, and then the processes that are ready.
  template <class Action>
  void in_event(Context& context, Action&& action) {
    kernel_.in_event(context, std::forward<Action>(action));
  }
  void wake(const ProcessWake& event) { kernel_.wake(event); }

 private:
  Context& context() const { return kernel_.context(); }

  RandomStream stream_{"process"};
  ProcessKernel kernel_;
};

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
