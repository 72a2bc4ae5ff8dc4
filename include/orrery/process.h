// SPDX-License-Identifier: Apache-2.0
//
// Processes: what happens to a customer, a job or a machine, one thing after another, as one
// function that waits where time passes (the process interaction of Simula, SimPy and others;
// Birtwistle, Dahl, Myhrhaug and Nygaard, "Simula Begin", 1973). An LP may have as many as it
// likes:
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
// A process waits for: delay(d), ended(process), Signal::wait(), Mailbox::receive(),
// Servers::acquire(), and for another coroutine that returns a Process, which it calls by co_await.
//
// They run on every engine: where a process stands and what it knows are memory of its LP. A
// context, on the other hand, belongs to one event, and a reference to one that was kept while time
// passes would be that of another event, or of nothing. So such an LP is never given one: begin()
// and handlers have no argument for it, and its members now(), schedule(), random() and so on go to
// the context of the moment. What they return may be kept.
//
// Processes cannot be undone by reverse handlers (orrery/reverse.h): a frame does not run
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

/// What the code of an LP with processes can do, in begin(), handlers and processes, and the
/// classes that it is made of by a reference to the LP. Elsewhere (constructor, finish()) it throws
/// std::logic_error.
class ProcessHost {
 public:
  // ---- Processes

  /// Makes a process, which begins later in this event, behind those that were woken before.
  ProcessRef spawn(Process process) { return kernel_.spawn(std::move(process)); }
  /// Where the process waits, or, if it does not, where it will wait next, it gets an Interrupted.
  /// A wait that is already fulfilled, or over, is not taken back. False if the process has ended.
  bool interrupt(ProcessRef process, std::uint64_t reason = 0) {
    return kernel_.interrupt(process, reason);
  }
  bool is_alive(ProcessRef process) const { return kernel_.find(process) != nullptr; }
  /// The process that calls; none in begin() and handlers.
  ProcessRef this_process() const { return kernel_.running(); }
  /// Those that have not ended.
  std::uint64_t process_count() const { return kernel_.process_count(); }

  // ---- As in orrery/context.h

  Time now() const { return context().now(); }
  LpId self() const { return context().self(); }
  LpId lp_count() const { return context().lp_count(); }
  Time horizon() const { return context().horizon(); }

  /// A stream of the LP's own, "process", that goes on from event to event. What this and the next
  /// return may be kept over a wait; the seed of a fork reaches it with the next call.
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

  template <class E>
  void schedule(LpId destination, Duration delay, const E& event,
                std::span<const std::byte> bytes = {}) {
    if (bytes.empty()) return context().schedule(destination, delay, event);
    context().schedule(destination, delay, event, bytes);
  }
  template <class E>
  void schedule_expanded(LpId destination, Duration delay, Duration duration, const E& event,
                         std::span<const std::byte> bytes = {}) {
    context().schedule_expanded(destination, delay, duration, event, bytes);
  }
  template <class E>
  Timer schedule_timer(Duration delay, const E& event, std::span<const std::byte> bytes = {}) {
    return context().schedule_timer(delay, event, bytes);
  }
  bool cancel(const Timer& timer) { return context().cancel(timer); }
  [[noreturn]] void fail(std::string_view why) const { context().fail(why); }
  void hash_bytes(std::span<const std::byte> bytes) { context().hash_bytes(bytes); }

  /// Calls `action(context)`, for what is not listed here. The context is gone when it returns: it
  /// must not be kept.
  template <class Action>
  decltype(auto) with_context(Action&& action) {
    return std::forward<Action>(action)(context());
  }

 protected:
  ProcessHost() = default;
  ~ProcessHost() = default;

  /// Executes what an event does, and then the processes that go on.
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
/// handlers without a context: `void handle(const Order& order)`, or with the bytes behind it,
/// `void handle(const Order& order, std::span<const std::byte> bytes)`. No event type is needed for
/// the processes.
///
/// What has not ended when the LP does is destroyed after the members of `Derived`.
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
