// SPDX-License-Identifier: Apache-2.0
//
// All effects of one execution of a handler, to be compared with another execution of the same
// event, and the outbox that records them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "checkpoint/undo_log.h"
#include "core/event_header.h"
#include "core/mergeable_statistics.h"
#include "core/payload.h"
#include "core/rows.h"
#include "engine/checker/guard.h"
#include "engine/checker/world.h"
#include "memory/application_mode.h"
#include "run/execution/outbox_modes.h"

namespace orrery::checker {

struct Sent : EventHeader {
  Sent(const EventHeader& header, std::size_t payload_at)
      : EventHeader(header), payload(payload_at) {}
  std::size_t payload;  ///< offset of its payload in Effects::payloads
};

struct Effects {
  WorldIndex world = 0;
  std::vector<Sent> sends;  ///< including those at or after the horizon
  std::vector<std::byte> payloads;
  RowBuffer rows;
  std::vector<Observation> observations;
  checkpoint::KernelState kernel;  ///< after the execution, if it succeeded
  std::string fault;               ///< a sentence, if it failed
  std::vector<AllocationStep> steps;
  std::vector<std::byte> image;  ///< of the LP's memory after the execution

  /// Clears all, for an execution by an LP whose kernel state is `before`.
  void begin(WorldIndex index, const checkpoint::KernelState& before) {
    world = index;
    kernel = before;
    sends.clear();
    payloads.clear();
    rows.clear();
    observations.clear();
    fault.clear();
    steps.clear();
    image.clear();
  }
  Effects without_image() const {
    return {world, sends, payloads, rows, observations, kernel, fault, steps, {}};
  }
  const std::byte* payload_of(const Sent& sent) const { return payloads.data() + sent.payload; }
  template <class Payload>
  void add_send(const EventHeader& header, const Payload& payload) {
    const std::size_t at = payloads.size();
    sends.emplace_back(header, at);
    payloads.resize(at + header.size.bytes());
    if (header.size.bytes() > 0) write_payload(payloads.data() + at, payload, header.size);
  }
};

/// The outbox of the checker's executions. Recording leaves bytes on the stack below the handler,
/// and the handler's next calls may have them in their padding, so they must not differ between
/// executions. Recording is therefore done in separate functions, and then their part of the stack
/// is overwritten.
struct Outbox {
  Effects* effects = nullptr;               ///< of the execution that runs
  checkpoint::UndoLog* undo_log = nullptr;  ///< if the execution will be undone by reverse handler
  WorldIndex stack_world = 0;               ///< the world whose pattern is on the stack

  /// The change of mode, too, is a part of what is overwritten.
  using Modes = OutboxModes<HandlersMode>;
  template <class Payload>
  void send(const EventHeader& header, const Payload& payload) {
    record(header, payload);
    scrub_stack(stack_world);
  }
  void append_row(const Row& row) {
    record(row);
    scrub_stack(stack_world);
  }
  void observe(const Key&, LpId, const Observation& observation) {
    record(observation);
    scrub_stack(stack_world);
  }
  void save_before(const void* address, std::size_t bytes) {
    if (undo_log != nullptr) undo_log->save_before(address, bytes);
    scrub_stack(stack_world);
  }
  void remember(const void* value, std::size_t bytes) {
    if (undo_log != nullptr) undo_log->remember(value, bytes);
    scrub_stack(stack_world);
  }

 private:
  template <class Payload>
  [[gnu::noinline]] void record(const EventHeader& header, const Payload& payload) {
    const memory::PlatformMode platform;
    effects->add_send(header, payload);
  }
  [[gnu::noinline]] void record(const Row& row) {
    const memory::PlatformMode platform;
    effects->rows.append(row);
  }
  [[gnu::noinline]] void record(const Observation& observation) {
    const memory::PlatformMode platform;
    effects->observations.push_back(observation);
  }
};

}  // namespace orrery::checker
