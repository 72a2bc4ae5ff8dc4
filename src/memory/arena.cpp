// SPDX-License-Identifier: Apache-2.0
//
// Stocks, ways and areas; arena.h says why.
#include "memory/arena.h"

#include <algorithm>
#include <cstdlib>
#include <new>

#include "memory/application_mode.h"
#include "memory/poison.h"

namespace orrery::memory {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr std::size_t kSmallestStockBytes = kMiB;
constexpr std::size_t kLargestStockBytes = 16 * kMiB;
// Below this size a worker's blocks are few and mostly empty, and huge pages would only use up
// memory. Beyond it, LPs whose heaps have a dozen runs each touch a dozen pages an event (PCS with
// 1024 cells: 4 % of the rate). With colouring, only huge pages make the separation real.
constexpr std::size_t kHugePagesAboveBytes = kMiB;
// Bytes of one kind that may lie unused before they serve the other kind, or an eighth of all
// stocks if that is more.
constexpr std::size_t kSpareBytes = 8 * kMiB;

// Makes room for `more` elements, so that push_back cannot fail. False if there is no memory.
template <typename T>
bool make_room(std::vector<T>& list, std::size_t more = 1) noexcept {
  try {
    if (list.capacity() < list.size() + more) {
      list.reserve(2 * list.size() + more + 4);
    }
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

}  // namespace

Arena::Arena(const Colouring& colouring, bool deny_oversize)
    : colouring_(colouring),
      deny_oversize_(deny_oversize),
      spare_{SparePieces(Access::intensive, colouring.way_bytes, 0),
             SparePieces(Access::mild, colouring.way_bytes, colouring.mild_from)} {
  Region::instance();
  for (const Access access : {Access::intensive, Access::mild}) {
    for (unsigned size_class = 0; size_class < kSmallClasses; ++size_class) {
      const bool whole_blocks = !colouring_.on || wastes_piece(size_class, access);
      longest_logs_[index(access)][size_class] = static_cast<std::uint8_t>(
          longest_run_log(size_class, whole_blocks ? kBlockBytes : largest_piece(access)));
    }
  }
}

Arena::~Arena() {
  const PlatformMode platform;
  for (Area* const area : areas_) {
    retract_area(*area);
    std::free(area);
  }
  for (const Extent& extent : extents_) {
    Region::instance().give_back(extent.pool, extent.base, extent.bytes);
  }
}

// Where in an area serving begins, in units of 2^-32 of the area. Areas start at multiples of 64
// KiB. If all were served from their start, the first chunks of all classes would lie on the same
// few sets of the first-level cache, and equal layouts of several workers on the same sets of a
// shared cache. So workers are spread evenly, and classes by multiples of the golden ratio, which
// stay well apart.
std::uint64_t Arena::phase(unsigned size_class, unsigned log) const noexcept {
  constexpr std::uint64_t kGolden = 0x9e3779b9;
  const std::uint64_t worker = (std::uint64_t{colouring_.worker} << 32) / colouring_.workers;
  return (worker + kGolden * (size_class + kSmallClasses * log)) & 0xffffffff;
}

// Switches the cursor to the rest of the current area, or to a new area.
bool Arena::refill(Cursor& cursor, unsigned size_class, Access access, unsigned log) noexcept {
  const std::size_t run_bytes = chunk_bytes(size_class) << log;
  if (cursor.start_bytes >= run_bytes) {
    cursor.next = cursor.start;
    cursor.left_bytes = cursor.start_bytes;
    cursor.start_bytes = 0;
    return true;
  }
  const PlatformMode platform;
  std::size_t bytes = 0;
  const Area* const area = open_area(size_class, access, log, bytes);
  if (area == nullptr) {
    return false;
  }
  const std::size_t runs = bytes / run_bytes;
  const std::size_t first = runs * phase(size_class, log) >> 32;
  cursor.start = area->base;
  cursor.start_bytes = first * run_bytes;
  cursor.next = area->base + first * run_bytes;
  cursor.left_bytes = (runs - first) * run_bytes;
  return true;
}

Area* Arena::open_area(unsigned size_class, Access access, unsigned log,
                       std::size_t& bytes) noexcept {
  if (!make_room(areas_)) {
    return nullptr;
  }
  Piece piece;
  if (colouring_.on && !wastes_piece(size_class, access)) {
    piece = take_piece(access, chunk_bytes(size_class) << log);
    // Mild pieces begin at the threshold, which may be less aligned than the class promises.
    const std::size_t chunk = chunk_bytes(size_class);
    const std::size_t alignment = chunk & (0 - chunk);
    if (piece.base == nullptr &&
        (access == Access::mild || colouring_.intensive_bytes % alignment == 0)) {
      piece = take_spare_piece(access, chunk << log);
    }
  }
  if (piece.base == nullptr) {
    piece = {take_block(), kBlockBytes};
  }
  if (piece.base == nullptr) {
    return nullptr;
  }
  if (!open(piece.base, piece.bytes, size_class, access, log)) {
    return nullptr;  // the piece is lost to this simulation, which cannot go on anyway
  }
  bytes = piece.bytes;
  return areas_.back();
}

// Makes the memory an area. The caller has made room for one more in areas_.
bool Arena::open(std::byte* base, std::size_t bytes, unsigned size_class, Access access,
                 unsigned log) noexcept {
  Area* const area = Area::make(base, bytes, size_class, access, log);
  if (area == nullptr) {
    return false;
  }
  poison(base, bytes);
  publish_area(*area);
  areas_.push_back(area);
  taken_bytes_ += bytes;
  return true;
}

std::size_t Arena::largest_piece(Access access) const noexcept {
  const std::size_t part = access == Access::mild ? colouring_.way_bytes - colouring_.mild_from
                                                  : colouring_.intensive_bytes;
  return std::min(part, kBlockBytes);
}

// Whether chunks of the class would leave more than a quarter of a piece unused.
bool Arena::wastes_piece(unsigned size_class, Access access) const noexcept {
  const std::size_t piece = largest_piece(access);
  const std::size_t chunk = chunk_bytes(size_class);
  return piece / chunk * chunk * 4 < piece * 3 || piece == 0;
}

// Whether so much memory of the other kind lies unused that it may serve `access`.
bool Arena::may_displace(Access access) const noexcept {
  const Access other = access == Access::mild ? Access::intensive : Access::mild;
  return spare_[index(other)].bytes() > std::max(kSpareBytes, stocks_bytes_ / 8);
}

Piece Arena::take_piece(Access access, std::size_t least_bytes) noexcept {
  if (!colouring_.on || least_bytes > largest_piece(access)) {
    return {};
  }
  const PlatformMode platform;
  const Piece piece = spare_[index(access)].take(least_bytes);
  if (piece.base == nullptr && !may_displace(access) && open_way(access)) {
    return spare_[index(access)].take(least_bytes);
  }
  return piece;
}

Piece Arena::take_spare_piece(Access access, std::size_t least_bytes) noexcept {
  if (!colouring_.on) {
    return {};
  }
  Piece piece = spare_[index(access)].take_low(least_bytes);
  if (piece.base != nullptr || !may_displace(access)) {
    return piece;
  }
  SparePieces& other = spare_[index(access == Access::mild ? Access::intensive : Access::mild)];
  piece = other.take_low(least_bytes);
  if (piece.base == nullptr) {
    piece = other.take(least_bytes);
  }
  displaced_bytes_ += piece.bytes;
  return piece;
}

void Arena::give_back(Access access, const Piece& piece) noexcept {
  if (piece.meant_for != access) {
    displaced_bytes_ -= piece.bytes;
  }
  spare_[index(piece.meant_for)].put(piece);
}

// Divides a fresh way. If the threshold was moved, the part between the two kinds goes to the kind
// that was requested.
bool Arena::open_way(Access access) noexcept {
  const std::size_t intensive = access == Access::intensive
                                    ? colouring_.intensive_bytes
                                    : std::min(colouring_.intensive_bytes, colouring_.mild_from);
  const std::size_t mild_from = std::max(intensive, colouring_.mild_from);
  SparePieces& for_intensive = spare_[index(Access::intensive)];
  SparePieces& for_mild = spare_[index(Access::mild)];
  if (!for_intensive.make_room(intensive) ||
      !for_mild.make_room(colouring_.way_bytes - mild_from)) {
    return false;
  }
  std::byte* const way = take_from_stock(colouring_.way_bytes);
  if (way == nullptr) {
    return false;
  }
  for_intensive.add(way, intensive);
  for_mild.add(way + mild_from, colouring_.way_bytes - mild_from);
  return true;
}

// A block without colour.
std::byte* Arena::take_block() noexcept {
  if (!colouring_.on) {
    return take_from_stock(kBlockBytes);
  }
  if (blocks_.empty()) {
    const std::size_t bytes = std::max(colouring_.way_bytes, kBlockBytes);
    if (!make_room(blocks_, bytes / kBlockBytes)) {
      return nullptr;
    }
    std::byte* const ways = take_from_stock(bytes);
    for (std::size_t at = bytes; ways != nullptr && at > 0; at -= kBlockBytes) {
      blocks_.push_back(ways + at - kBlockBytes);
    }
  }
  if (blocks_.empty()) {
    return nullptr;
  }
  std::byte* const block = blocks_.back();
  blocks_.pop_back();
  return block;
}

// Takes `bytes`, a power of two up to a huge page, aligned to `bytes`. Stocks grow with the arena,
// from 1 to 16 MiB (from 2 with colouring): small runs stay small, large ones rarely take a stock.
std::byte* Arena::take_from_stock(std::size_t bytes) noexcept {
  const auto unaligned = reinterpret_cast<std::uintptr_t>(stock_next_) % bytes;
  if (unaligned != 0) {
    const std::size_t skipped = std::min(bytes - unaligned, stock_left_bytes_);
    stock_next_ += skipped;
    stock_left_bytes_ -= skipped;
  }
  if (stock_left_bytes_ < bytes) {
    const bool huge_pages =
        stocks_bytes_ >= kHugePagesAboveBytes || (colouring_.on && colouring_.huge_pages);
    const std::size_t smallest = huge_pages || colouring_.on ? kHugePageBytes : kSmallestStockBytes;
    const std::size_t stock = std::clamp(stocks_bytes_, smallest, kLargestStockBytes);
    stock_left_bytes_ = 0;
    stock_next_ =
        take_extent(Region::Pool::stock, stock,
                    huge_pages || colouring_.on ? kHugePageBytes : kBlockBytes, huge_pages);
    if (stock_next_ == nullptr) {
      return nullptr;
    }
    stock_left_bytes_ = stock;
    stocks_bytes_ += stock;
  }
  std::byte* const taken = stock_next_;
  stock_next_ += bytes;
  stock_left_bytes_ -= bytes;
  return taken;
}

std::byte* Arena::take_large(unsigned size_class, std::size_t alignment) noexcept {
  if (denies(size_class)) {
    return nullptr;
  }
  const PlatformMode platform;
  if (!make_room(areas_)) {
    return nullptr;
  }
  const std::size_t bytes = (chunk_bytes(size_class) + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
  const bool huge = bytes >= kHugePageBytes;
  std::byte* const run =
      take_extent(huge ? Region::Pool::huge : Region::Pool::large, bytes,
                  std::max(alignment, huge ? kHugePageBytes : kBlockBytes), huge);
  if (run == nullptr) {
    return nullptr;
  }
  return open(run, bytes, size_class, Access::intensive, 0) ? run : nullptr;
}

bool Arena::restore_extent(const Extent& extent) noexcept {
  const PlatformMode platform;
  if (!make_room(extents_) ||
      !Region::instance().take_at(extent.pool, extent.base, extent.bytes, extent.huge_pages)) {
    return false;
  }
  extents_.push_back(extent);
  return true;
}

bool Arena::restore_area(std::byte* base, std::size_t bytes, unsigned size_class, Access access,
                         unsigned log) noexcept {
  const PlatformMode platform;
  return make_room(areas_) && open(base, bytes, size_class, access, log);
}

std::byte* Arena::take_extent(Region::Pool pool, std::size_t bytes, std::size_t alignment,
                              bool huge_pages) noexcept {
  if (!make_room(extents_)) {
    return nullptr;
  }
  note_growth();
  std::byte* const base = Region::instance().take(pool, bytes, alignment, huge_pages);
  if (base != nullptr) {
    extents_.push_back({base, bytes, pool, huge_pages});
  }
  return base;
}

}  // namespace orrery::memory
