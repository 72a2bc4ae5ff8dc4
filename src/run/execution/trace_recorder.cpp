// SPDX-License-Identifier: Apache-2.0
#include "run/execution/trace_recorder.h"

#include <algorithm>

namespace orrery {

std::string_view name_of(TraceKind kind) {
  switch (kind) {
    case TraceKind::event:
      return "event";
    case TraceKind::coasted:
      return "coasted";
    case TraceKind::dropped:
      return "dropped";
    case TraceKind::rollback:
      return "rollback";
    case TraceKind::coasting:
      return "coasting forward";
    case TraceKind::restore:
      return "restore";
    case TraceKind::checkpoint:
      return "checkpoint";
    case TraceKind::gvt_round:
      return "GVT round";
    case TraceKind::interrupted:
      return "interrupted";
    case TraceKind::idle:
      return "idle";
    case TraceKind::batch:
      return "batch";
    case TraceKind::block:
      return "block";
    case TraceKind::moving:
      return "LPs move";
    case TraceKind::engine:
      return "engine";
    case TraceKind::set_up:
      return "set-up";
    case TraceKind::halt:
      return "halt";
    case TraceKind::finish:
      return "finish";
  }
  return "?";
}

TraceRecorder::TraceRecorder(TraceScope scope, unsigned workers, std::size_t lane_records)
    : scope_(std::move(scope)) {
  for (unsigned i = 0; i < workers; ++i)
    lanes_.push_back(std::make_unique<TraceLane>(lane_records / workers));
}

}  // namespace orrery
