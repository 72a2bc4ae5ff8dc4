// SPDX-License-Identifier: Apache-2.0
//
// What processes and the handlers of their LP call without a context: the functions of the LP, which
// use the context of the current event. A model includes orrery/process.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "orrery/context.h"
#include "orrery/process_kernel.h"
#include "orrery/random_stream.h"
#include "orrery/time.h"

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
  /// For begin(): records these metrics of servers, or this level of a container, from now on:
  /// `observe(desk_, model_.desk_metrics)`.
  template <class Resource, class Metrics>
  void observe(Resource& resource, const Metrics& metrics) {
    resource.observe(context(), metrics);
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
  friend class PreemptiveServers;
  Context& context() const { return kernel_.context(); }

  RandomStream stream_{"process"};
  ProcessKernel kernel_;
};

}  // namespace orrery
