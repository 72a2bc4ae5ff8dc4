// SPDX-License-Identifier: Apache-2.0
//
// A trace's data of an event: its place in the order, its type and size, the fingerprint of its LP
// after it, and the numbers of its sends, so that the cause of an event can be found.
//
// It travels as a row (core/rows.h), behind the rows of the same event, in a table of its own. So
// the code for rows drops it if the event is rolled back, hands it over when the event commits,
// brings it from other ranks, and sorts it. It is no row of the model: it enters neither the
// fingerprint nor a table. The name of the type is included, since only the LP knows it, and the LP
// may be on another rank.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/event_header.h"
#include "core/key.h"
#include "core/row_cells.h"
#include "core/rows.h"
#include "orrery/event.h"
#include "orrery/results.h"

namespace orrery {

struct TracedEvent {
  /// Used as the number of the table.
  static constexpr std::uint32_t kTable = ~std::uint32_t{0};
  static constexpr std::size_t kPlainCells = 5;
  static constexpr std::size_t kMostCells = Table::kMaxColumns;
  static constexpr std::size_t kMostNameBytes = (kMostCells - kPlainCells) * sizeof(std::uint64_t);

  Key key;
  LpId lp = 0;
  EventTypeId type = 0;
  std::string_view name;  ///< of the type; empty: start() of the LP. Longer names are cut
  std::uint32_t payload_bytes = 0;
  std::int64_t duration_ticks = 0;
  std::uint64_t fingerprint = 0;  ///< of the LP, after the event
  /// Its own sends have the send counts first_send ... first_send + sends - 1.
  std::uint64_t first_send = 0;
  std::uint32_t sends = 0;

  /// From what is known at the execution. `event`: null for start(). `sends_before`, `sends`: the
  /// LP's send counts before and after it.
  static TracedEvent of(const EventHeader* event, std::string_view name, Duration duration,
                        std::uint64_t fingerprint, std::uint64_t sends_before,
                        std::uint64_t sends) {
    TracedEvent traced;
    traced.fingerprint = fingerprint;
    traced.first_send = sends_before + 1;
    traced.sends = static_cast<std::uint32_t>(sends - sends_before);
    if (event == nullptr) return traced;
    traced.type = event->type;
    traced.name = name;
    traced.payload_bytes = model_bytes_of(*event);
    traced.duration_ticks = duration.ticks();
    return traced;
  }

  using Cells = std::array<std::uint64_t, kMostCells>;
  /// Fills `cells`; returns the used ones.
  std::span<const std::uint64_t> pack(Cells& cells) const {
    const std::string_view text = name.substr(0, kMostNameBytes);
    cells[0] = (std::uint64_t{payload_bytes} << 32) | type;
    cells[1] = static_cast<std::uint64_t>(duration_ticks);
    cells[2] = fingerprint;
    cells[3] = first_send;
    cells[4] = (std::uint64_t{sends} << 32) | text.size();
    return {cells.data(), kPlainCells + row_cells::put_text(text, &cells[kPlainCells])};
  }
  /// The name of the result refers to the row's memory.
  static TracedEvent read(const Row& row) {
    TracedEvent event;
    event.key = row.key;
    event.lp = row.lp;
    event.type = static_cast<EventTypeId>(row.cells[0]);
    event.payload_bytes = static_cast<std::uint32_t>(row.cells[0] >> 32);
    event.duration_ticks = static_cast<std::int64_t>(row.cells[1]);
    event.fingerprint = row.cells[2];
    event.first_send = row.cells[3];
    event.sends = static_cast<std::uint32_t>(row.cells[4] >> 32);
    event.name = {reinterpret_cast<const char*>(row.cells.data() + kPlainCells),
                  static_cast<std::size_t>(row.cells[4] & 0xffffffff)};
    return event;
  }
};

}  // namespace orrery
