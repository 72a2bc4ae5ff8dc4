// SPDX-License-Identifier: Apache-2.0
//
// Stocks and blocks; arena.h tells why.
#include "memory/arena.h"

#include <algorithm>
#include <cstdlib>
#include <new>

#include "memory/application_mode.h"
#include "memory/poison.h"

namespace orrery::memory {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr std::size_t kHugePageBytes = 2 * kMiB;
constexpr std::size_t kSmallestStockBytes = kMiB;
constexpr std::size_t kLargestStockBytes = 16 * kMiB;
// Below this a worker's blocks are few and mostly empty; huge pages would only fill memory.
constexpr std::size_t kHugePagesAboveBytes = 8 * kMiB;

}  // namespace

Arena::Arena() {
  Region::instance();
}

Arena::~Arena() {
  const PlatformMode platform;
  for (const Extent& extent : extents_) {
    const bool stock = extent.pool == Region::Pool::stock;
    const std::size_t blocks = stock ? extent.bytes / kBlockBytes : 1;
    for (std::size_t i = 0; i < blocks; ++i) {
      std::byte* const block = extent.base + i * kBlockBytes;
      if (const BlockInfo info = block_info(block); info.used()) {
        set_block_info(block, BlockInfo());
        if (stock) {
          std::free(info.slots());
        }
      }
    }
    Region::instance().give_back(extent.pool, extent.base, extent.bytes);
  }
}

bool Arena::open_block(Cursor& cursor, unsigned size_class, unsigned log) noexcept {
  const PlatformMode platform;
  const std::size_t run_bytes = chunk_bytes(size_class) << log;
  const std::size_t runs = kBlockBytes / run_bytes;
  auto* const slots = static_cast<std::uint32_t*>(std::calloc(runs, sizeof(std::uint32_t)));
  if (slots == nullptr) {
    return false;
  }
  std::byte* const block = take_block();
  if (block == nullptr) {
    std::free(slots);
    return false;
  }
  poison(block, kBlockBytes);
  set_block_info(block, BlockInfo::small(size_class, log, slots));
  cursor = {block, runs * run_bytes};
  return true;
}

// Stocks grow with the arena, from 1 to 16 MiB: small runs stay small, large ones rarely ask.
std::byte* Arena::take_block() noexcept {
  if (stock_left_bytes_ == 0) {
    const std::size_t bytes = std::clamp(stocks_bytes_, kSmallestStockBytes, kLargestStockBytes);
    const bool huge_pages = stocks_bytes_ >= kHugePagesAboveBytes;
    stock_next_ = take_extent(Region::Pool::stock, bytes, huge_pages ? kHugePageBytes : kBlockBytes,
                              huge_pages);
    if (stock_next_ == nullptr) {
      return nullptr;
    }
    stock_left_bytes_ = bytes;
    stocks_bytes_ += bytes;
  }
  std::byte* const block = stock_next_;
  stock_next_ += kBlockBytes;
  stock_left_bytes_ -= kBlockBytes;
  return block;
}

std::byte* Arena::take_large(unsigned size_class, std::size_t alignment) noexcept {
  const PlatformMode platform;
  const std::size_t bytes = (chunk_bytes(size_class) + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
  const bool huge = bytes >= kHugePageBytes;
  std::byte* const run =
      take_extent(huge ? Region::Pool::huge : Region::Pool::large, bytes,
                  std::max(alignment, huge ? kHugePageBytes : kBlockBytes), huge);
  if (run != nullptr) {
    poison(run, bytes);
    set_block_info(run, BlockInfo::large(size_class, 0));
  }
  return run;
}

std::byte* Arena::take_extent(Region::Pool pool, std::size_t bytes, std::size_t alignment,
                              bool huge_pages) noexcept {
  try {
    extents_.reserve(extents_.size() + 1 > extents_.capacity() ? 2 * extents_.size() + 4
                                                               : extents_.capacity());
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
  std::byte* const base = Region::instance().take(pool, bytes, alignment, huge_pages);
  if (base != nullptr) {
    extents_.push_back({base, bytes, pool});
    taken_bytes_ += bytes;
  }
  return base;
}

}  // namespace orrery::memory
