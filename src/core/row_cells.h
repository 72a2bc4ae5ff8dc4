// SPDX-License-Identifier: Apache-2.0
//
// The cells of a row in words. Each column has one, in order: an integer, a double as its bits, or
// the length of a text in bytes. The texts follow in the same order, each padded with zeros to
// whole words. So a row without texts has no overhead, code that stores or sends rows needs only
// the number of words, and equal rows have equal words.
//
// Captured bytes are a row, too: one cell with their number, and the bytes, padded in the same way.
// The number of its table is kCaptures plus the index of the interface.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "orrery/capture.h"
#include "orrery/results.h"

namespace orrery::row_cells {

constexpr std::size_t words_of_text(std::size_t bytes) {
  return (bytes + 7) / 8;
}

/// Writes a text to `words`; returns the number of words.
inline std::size_t put_text(std::string_view text, std::uint64_t* words) {
  const std::size_t size = words_of_text(text.size());
  if (size == 0) return 0;
  words[size - 1] = 0;
  std::memcpy(words, text.data(), text.size());
  return size;
}

/// Memory for any row.
using Words = std::array<std::uint64_t, 2 * Table::kMaxColumns + Table::kMaxTextBytes / 8>;

/// `texts`: one for each column, empty for numbers. Returns the number of words of the row; 0 if
/// its texts have more than `Table::kMaxTextBytes`.
inline std::size_t pack(std::span<const std::uint64_t> cells,
                        std::span<const std::string_view> texts, Words& words) {
  std::size_t bytes = 0;
  for (const std::string_view text : texts) {
    if (text.size() > Table::kMaxTextBytes - bytes) return 0;
    bytes += text.size();
  }
  std::size_t count = cells.size();
  std::memcpy(words.data(), cells.data(), cells.size_bytes());
  for (const std::string_view text : texts) count += put_text(text, words.data() + count);
  return count;
}

/// Calls `visit(value)` for each cell of a row of this table, with a std::int64_t, a double or a
/// std::string_view.
template <class Visit>
void for_each(const Table& table, std::span<const std::uint64_t> cells, Visit&& visit) {
  const auto& columns = table.columns();
  std::size_t next_text = columns.size();
  for (std::size_t i = 0; i < columns.size(); ++i) {
    switch (columns[i].type) {
      case ColumnType::integer:
        visit(static_cast<std::int64_t>(cells[i]));
        break;
      case ColumnType::real:
        visit(std::bit_cast<double>(cells[i]));
        break;
      case ColumnType::text:
        visit(std::string_view(reinterpret_cast<const char*>(cells.data() + next_text), cells[i]));
        next_text += words_of_text(cells[i]);
        break;
    }
  }
}

constexpr std::uint32_t kCaptures = std::uint32_t{1} << 31;
inline std::uint32_t table_of(const Capture& interface) {
  return kCaptures + interface.index();
}
constexpr bool is_capture(std::uint32_t table) {
  return table >= kCaptures;
}
/// The index of the interface, of a row of captured bytes.
constexpr std::uint32_t capture_of(std::uint32_t table) {
  return table - kCaptures;
}

constexpr std::size_t kMostCaptureWords = 1 + words_of_text(Capture::kMaxBytes);
/// The words of the largest row.
constexpr std::size_t kMostWords = std::max(std::tuple_size_v<Words>, kMostCaptureWords);

/// Returns the number of words of the row.
inline std::size_t pack_capture(std::span<const std::byte> bytes, std::uint64_t* words) {
  words[0] = bytes.size();
  return 1 + put_text({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, words + 1);
}
inline std::string_view captured(std::span<const std::uint64_t> cells) {
  return {reinterpret_cast<const char*>(cells.data() + 1), cells[0]};
}

}  // namespace orrery::row_cells
