// SPDX-License-Identifier: Apache-2.0
//
// Rows of handlers on their way from an engine to the store. An engine keeps the rows of an event
// until the event commits, then hands them over; the receiver merges the streams of several workers
// in time order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/key.h"

namespace orrery {

struct Row {
  Key key;                ///< of the event that emitted the row
  std::uint32_t ordinal;  ///< index among the rows of that event
  LpId lp;
  std::uint32_t table;                   ///< or the interface of a capture: see row_cells.h
  std::span<const std::uint64_t> cells;  ///< see row_cells.h
};

/// A row in words: time, step and sender, send count, ordinal and LP, table and number of cell
/// words, cell words.
struct PackedRow {
  static constexpr std::size_t kHeadWords = 5;

  static void append(const Row& row, std::vector<std::uint64_t>& words);
  /// The cells of the returned row refer to `words`.
  static Row read(const std::uint64_t* words) {
    return {Key(Time::from_ticks(static_cast<std::int64_t>(words[0])),
                static_cast<std::uint32_t>(words[1] >> 32), static_cast<LpId>(words[1]), words[2]),
            static_cast<std::uint32_t>(words[3] >> 32),
            static_cast<LpId>(words[3]),
            static_cast<std::uint32_t>(words[4] >> 32),
            {words + kHeadWords, static_cast<std::size_t>(words[4] & 0xffffffff)}};
  }
};

/// Rows packed one after another.
class RowBuffer {
 public:
  void append(const Row& row) { PackedRow::append(row, words_); }
  bool empty() const { return words_.empty(); }
  bool operator==(const RowBuffer&) const = default;
  void clear() { words_.clear(); }
  /// For removing rows of a handler that has failed: a position for return_to().
  std::size_t mark() const { return words_.size(); }
  void return_to(std::size_t mark) { words_.resize(mark); }
  std::size_t bytes() const { return words_.capacity() * sizeof(std::uint64_t); }
  /// All rows, for transfer to another process of the same build; and back.
  std::span<const std::uint64_t> words() const { return words_; }
  static RowBuffer of(std::span<const std::uint64_t> words) {
    RowBuffer buffer;
    buffer.words_.assign(words.begin(), words.end());
    return buffer;
  }

  /// Calls `visit(const Row&)` for every row in the order of appending.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (std::size_t at = 0; at < words_.size();) {
      const Row row = PackedRow::read(words_.data() + at);
      visit(row);
      at += PackedRow::kHeadWords + row.cells.size();
    }
  }

 private:
  std::vector<std::uint64_t> words_;
};

/// Receiver of committed rows. Worker `w` calls `commit` and `advance` from one thread; different
/// workers call at the same time.
class RowSink {
 public:
  virtual ~RowSink() = default;
  /// Called before a team of workers starts, and again when another team takes over. By then all
  /// watermarks of the earlier team have reached the same key: rows before it are complete, and
  /// rows of the new team, which has no watermarks yet, come at or after it. A sink that never
  /// learns the number of workers cannot know which rows may still come, and keeps all rows until
  /// the end of the run.
  virtual void begin(unsigned workers) { static_cast<void>(workers); }
  /// Takes the rows and clears the buffer. May wait for the disk, never for another worker.
  virtual void commit(unsigned worker, RowBuffer& rows) = 0;
  /// Worker `w` has committed all its rows with keys before `until`.
  virtual void advance(unsigned worker, const Key& until) = 0;
};

}  // namespace orrery
