// SPDX-License-Identifier: Apache-2.0
//
// Size classes of LP memory.
//
// Four classes a doubling (16, 32, 48, 64, 80, 96, 112, 128, 160, 192, ...) instead of the powers
// of two that DyMeLoR (Toccaceli and Quaglia, PADS 2008) uses: a checkpoint copies whole chunks,
// so rounding is paid in memory *and* in every copy. Powers of two waste a quarter of a chunk on
// average, four steps a doubling about a tenth. Above 32 KiB the steps are eighths, because there a
// wasted eighth is already a page. All chunk sizes are multiples of 16 bytes, the alignment malloc
// promises.
#ifndef ORRERY_MEMORY_SIZE_CLASS_H
#define ORRERY_MEMORY_SIZE_CLASS_H

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace orrery::memory {

inline constexpr std::size_t kMinAlignmentBytes = 16;
inline constexpr std::size_t kBlockBytes = std::size_t{1} << 16;
inline constexpr std::size_t kPageBytes = 4096;
inline constexpr std::size_t kHugePageBytes = std::size_t{1} << 21;
inline constexpr unsigned kSmallClasses = 40;  // the last one has chunks of 32 KiB
inline constexpr std::size_t kLargestSmallBytes = std::size_t{1} << 15;
inline constexpr unsigned kClasses = 240;  // small ones, then eighths of a doubling
inline constexpr std::size_t kLargestRequestBytes = std::size_t{1} << 39;
inline constexpr unsigned kMaxRunLog = 6;  // 64 chunks: one bitmap word

namespace detail {

constexpr unsigned compute_class(std::size_t bytes) noexcept {
  if (bytes <= 64) {
    return bytes == 0 ? 0 : static_cast<unsigned>((bytes - 1) >> 4);
  }
  const std::size_t last = bytes - 1;
  const unsigned exponent = static_cast<unsigned>(std::bit_width(last)) - 1;
  if (bytes <= kLargestSmallBytes) {
    return 4 + (exponent - 6) * 4 + (static_cast<unsigned>(last >> (exponent - 2)) & 3);
  }
  return kSmallClasses + (exponent - 15) * 8 + (static_cast<unsigned>(last >> (exponent - 3)) & 7);
}

constexpr std::size_t compute_chunk_bytes(unsigned size_class) noexcept {
  if (size_class < 4) {
    return (size_class + 1) * kMinAlignmentBytes;
  }
  if (size_class < kSmallClasses) {
    const unsigned step = size_class - 4;
    return static_cast<std::size_t>(5 + step % 4) << (4 + step / 4);
  }
  const unsigned step = size_class - kSmallClasses;
  return static_cast<std::size_t>(9 + step % 8) << (12 + step / 8);
}

// The longest power-of-two run that still lets whole runs use at least 7/8 of an area's chunks.
constexpr unsigned compute_max_run_log(unsigned size_class,
                                       std::size_t area_bytes = kBlockBytes) noexcept {
  if (size_class >= kSmallClasses) {
    return 0;
  }
  const std::size_t chunks = area_bytes / compute_chunk_bytes(size_class);
  unsigned log = kMaxRunLog;
  while (log > 0 && ((chunks >> log) << log) * 8 < chunks * 7) {
    --log;
  }
  return log;
}

template <typename Value, unsigned N, typename Compute>
constexpr std::array<Value, N> make_table(Compute compute) noexcept {
  std::array<Value, N> table{};
  for (unsigned i = 0; i < N; ++i) {
    table[i] = static_cast<Value>(compute(i));
  }
  return table;
}

inline constexpr auto kChunkBytes = make_table<std::size_t, kClasses>(compute_chunk_bytes);
inline constexpr auto kMaxRunLogs = make_table<std::uint8_t, kClasses>(
    [](unsigned size_class) { return compute_max_run_log(size_class); });
// Classes of 0, 16, 32, ... bytes: most requests are small, and a look-up mispredicts no branch.
inline constexpr std::size_t kTabledBytes = 1024;
inline constexpr auto kTabledClasses = make_table<std::uint8_t, kTabledBytes / 16 + 1>(
    [](unsigned units) { return compute_class(std::size_t{units} * 16); });
// ceil(2^32 / chunk size): offset * reciprocal >> 32 is the exact quotient for offsets in a block.
// Large classes have 0, because their runs have one chunk and the quotient is always 0.
inline constexpr auto kReciprocals =
    make_table<std::uint64_t, kClasses>([](unsigned size_class) -> std::uint64_t {
      const std::size_t bytes = compute_chunk_bytes(size_class);
      return size_class < kSmallClasses ? ((std::uint64_t{1} << 32) + bytes - 1) / bytes : 0;
    });

}  // namespace detail

// Class whose chunks are the smallest that hold `bytes`. Precondition: bytes <=
// kLargestRequestBytes.
constexpr unsigned class_of(std::size_t bytes) noexcept {
  if (bytes <= detail::kTabledBytes) [[likely]] {
    return detail::kTabledClasses[(bytes + 15) / 16];
  }
  return detail::compute_class(bytes);
}

constexpr bool is_large(unsigned size_class) noexcept {
  return size_class >= kSmallClasses;
}

constexpr std::size_t chunk_bytes(unsigned size_class) noexcept {
  return detail::kChunkBytes[size_class];
}

// How often memory is accessed: by every event, or seldom. It decides the cache sets, see colour.h.
enum class Access : std::uint8_t { intensive, mild };

// A row is a group of runs that an LP's heap searches together: small classes of intensive access,
// then small classes of mild access, then large classes. A row number fits a byte and leaves one
// value unused, so some large classes share a row. Their sizes differ by a factor above three
// million.
inline constexpr unsigned kMildRows = kSmallClasses;
inline constexpr unsigned kLargeRows = 2 * kSmallClasses;
inline constexpr unsigned kRows = 255;

constexpr unsigned small_row_of(unsigned size_class, Access access) noexcept {
  return size_class + static_cast<unsigned>(access) * kMildRows;
}
constexpr unsigned row_of(unsigned size_class, Access access) noexcept {
  return is_large(size_class) ? kLargeRows + (size_class - kSmallClasses) % (kRows - kLargeRows)
                              : small_row_of(size_class, access);
}

// Index of the chunk that covers `offset_bytes`, in a block of a small class or in a run.
constexpr unsigned chunk_index(unsigned size_class, std::size_t offset_bytes) noexcept {
  return static_cast<unsigned>(offset_bytes * detail::kReciprocals[size_class] >> 32);
}

// log2 of the chunk count of an LP's next run of a class, when the LP has `runs` runs of that
// class. The area may force a shorter run (Arena::take_run). An LP keeps a run as long as its heap,
// so re-execution after a rollback finds the same runs.
constexpr unsigned wanted_run_log(std::size_t runs) noexcept {
  return runs < 3 ? 2 * static_cast<unsigned>(runs) : kMaxRunLog;
}
// log2 of the longest run in an area of `area_bytes` (at most a block).
constexpr unsigned longest_run_log(unsigned size_class, std::size_t area_bytes) noexcept {
  return area_bytes == kBlockBytes ? detail::kMaxRunLogs[size_class]
                                   : detail::compute_max_run_log(size_class, area_bytes);
}

// Class for a request with an alignment (a power of two above 16, at most a block). Chunks of a
// class are aligned to the largest power of two that divides their size.
constexpr unsigned class_of_aligned(std::size_t bytes, std::size_t alignment) noexcept {
  unsigned size_class = class_of(bytes < alignment ? alignment : bytes);
  while (!is_large(size_class) && chunk_bytes(size_class) % alignment != 0) {
    ++size_class;
  }
  return size_class;
}

}  // namespace orrery::memory

#endif  // ORRERY_MEMORY_SIZE_CLASS_H
