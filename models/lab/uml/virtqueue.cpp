// SPDX-License-Identifier: Apache-2.0
#include "virtqueue.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <string>
#include <utility>

#include "../guest_error.h"

namespace orrery::lab {
namespace {

// Fields of the tables.
constexpr std::size_t kIndexOffset = 2, kRingOffset = 4, kUsedElementBytes = 8;
constexpr std::size_t kEventBytes = 2;                         ///< after each ring
constexpr std::uint16_t kNoInterrupt = 1;                      ///< a flag of the available table
constexpr std::uint16_t kNext = 1, kWrite = 2, kIndirect = 4;  ///< flags of a descriptor

/// Acquire: what the guest wrote before it moved the index is read after the index.
std::uint16_t load(std::byte* at) {
  return std::atomic_ref(*reinterpret_cast<std::uint16_t*>(at)).load(std::memory_order_acquire);
}
/// Release: a guest that sees the index also sees what was written before it.
void store(std::byte* at, std::uint16_t value) {
  std::atomic_ref(*reinterpret_cast<std::uint16_t*>(at)).store(value, std::memory_order_release);
}

std::byte* checked(const GuestMemory& memory, std::uint64_t address, std::uint64_t bytes,
                   std::size_t alignment) {
  std::byte* const at = memory.at(address, bytes);
  if (at == nullptr || std::bit_cast<std::uintptr_t>(at) % alignment != 0)
    throw GuestError("a table of its queue lies outside of the memory that it shares");
  return at;
}

}  // namespace

void Virtqueue::set_entries(std::uint32_t entries) {
  if (!std::has_single_bit(entries) || entries > kMostEntries)
    throw GuestError("its queue has a length that is no power of two up to " +
                     std::to_string(kMostEntries));
  reset();
  entries_ = entries;
}

void Virtqueue::set_addresses(const Addresses& addresses) {
  if (entries_ == 0) throw GuestError("its queue has addresses before it has a length");
  const std::uint64_t entries = entries_;
  std::byte* const descriptors =
      checked(memory_, addresses.descriptors, entries * sizeof(Descriptor), 16);
  std::byte* const available =
      checked(memory_, addresses.available, kRingOffset + 2 * entries + kEventBytes, 2);
  std::byte* const used =
      checked(memory_, addresses.used, kRingOffset + kUsedElementBytes * entries + kEventBytes, 4);
  const bool enabled = enabled_;
  reset();
  entries_ = static_cast<std::uint32_t>(entries);
  enabled_ = enabled;
  descriptors_ = descriptors;
  available_ = available;
  used_ = used;
  used_next_ = told_ = load(used_ + kIndexOffset);
}

void Virtqueue::reset() {
  entries_ = lent_ = 0;
  descriptors_ = available_ = used_ = nullptr;
  next_ = 0;
  ++generation_;
  enabled_ = false;
}

const Virtqueue::Chain* Virtqueue::pop() {
  if (!ready()) return nullptr;
  const auto offered = static_cast<std::uint16_t>(load(available_ + kIndexOffset) - next_);
  // A driver that ends takes back the chains that it has offered; then no chain is left.
  if (offered == 0 || static_cast<std::uint16_t>(-offered) <= entries_) return nullptr;
  if (offered > entries_ || lent_ == entries_)
    throw GuestError("its queue offers more than it has");
  chain_.head = load(available_ + kRingOffset + 2 * (next_ % entries_));
  chain_.parts.clear();
  std::uint64_t bytes = 0;
  std::uint16_t at = chain_.head;
  for (std::uint32_t length = 0;; ++length) {
    if (at >= entries_) throw GuestError("a chain of its queue leads out of it");
    if (length == std::min(entries_, kMostParts))
      throw GuestError("a chain of its queue has no end, or more than " +
                       std::to_string(kMostParts) + " parts");
    Descriptor part;
    std::memcpy(&part, descriptors_ + sizeof part * at, sizeof part);
    if ((part.flags & kIndirect) != 0)
      throw GuestError("its queue has an indirect chain, which was not offered");
    std::byte* const data = memory_.at(part.address, part.bytes);
    if (data == nullptr) throw GuestError("a buffer lies outside of the memory that it shares");
    bytes += part.bytes;
    if (bytes > kMostBytes) throw GuestError("a chain of its queue is longer than any frame");
    chain_.parts.push_back({data, part.bytes, (part.flags & kWrite) != 0});
    if ((part.flags & kNext) == 0) break;
    at = part.next;
  }
  ++next_;
  ++lent_;
  return &chain_;
}

std::uint16_t Virtqueue::add_used(std::uint16_t head, std::uint32_t bytes) {
  if (lent_ > 0) --lent_;
  const std::uint32_t element[2] = {head, bytes};
  std::memcpy(used_ + kRingOffset + kUsedElementBytes * (used_next_ % entries_), element,
              sizeof element);
  return ++used_next_;
}

void Virtqueue::push(std::uint16_t head, std::uint32_t bytes) {
  if (descriptors_ == nullptr) return;
  store(used_ + kIndexOffset, add_used(head, bytes));
}

std::uint16_t Virtqueue::push_hidden(std::uint16_t head, std::uint32_t bytes) {
  return told_ = add_used(head, bytes);
}

bool Virtqueue::wants_interrupt() {
  if (!event_index_) return (load(available_) & kNoInterrupt) == 0;
  const std::uint16_t event = load(available_ + kRingOffset + std::size_t{2} * entries_);
  const std::uint16_t used = used_next_, before = std::exchange(told_, used);
  return static_cast<std::uint16_t>(used - event - 1) < static_cast<std::uint16_t>(used - before);
}

void Virtqueue::want_notice() {
  if (event_index_ && ready()) store(used_ + kRingOffset + kUsedElementBytes * entries_, next_);
}

}  // namespace orrery::lab
