// SPDX-License-Identifier: Apache-2.0
//
// The modes of memory (memory/application_mode.h) in which Execution calls an outbox. The outbox of
// an engine has the trait `Modes`; Execution enters the mode before the call, so the code behind an
// outbox need not know whether model code or the platform has called it. Each mode is a scope:
//   memory::PlatformMode   memory comes from the system, and no signal interrupts the call
//   memory::HeapScope      in the handler's mode, but not to be interrupted or dropped half-way: for
//                          code that takes memory only where it enters platform mode itself, as
//                          pools of events and pending event sets do where they grow
//   HandlersMode           in the handler's mode: for such code on a thread that is not interrupted,
//                          and for LPs in ordinary memory
// The cost decides: HandlersMode costs nothing, HeapScope two stores, PlatformMode a load, two
// stores and a test.
#pragma once

#include "memory/application_mode.h"

namespace orrery {

struct HandlersMode {};

/// The modes for sends, for rows and for observed values.
template <class SendMode, class RowMode = SendMode, class ValueMode = HandlersMode>
struct OutboxModes {
  using Send = SendMode;
  using Row = RowMode;
  using Value = ValueMode;
};

}  // namespace orrery
