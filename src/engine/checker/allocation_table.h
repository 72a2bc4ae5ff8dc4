// SPDX-License-Identifier: Apache-2.0
//
// The live allocations of one LP: their sizes, their order, and the code that made them. A hash
// table with linear probing, since every event visits every entry and most LPs have few.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace orrery::checker {

struct Allocation {
  static constexpr std::size_t kFrames = 8;

  std::byte* address = nullptr;
  std::size_t bytes = 0;        ///< requested
  std::size_t chunk_bytes = 0;  ///< of the chunk that serves the request
  std::uint64_t ordinal = 0;    ///< counts the LP's allocations from 1
  std::array<const void*, kFrames>
      place{};  ///< return addresses, innermost first; nullptr: no more

  bool covers(const std::byte* pointer) const {
    return pointer >= address && pointer < address + chunk_bytes;
  }
};

class AllocationTable {
 public:
  void insert(const Allocation& allocation) {
    if (2 * (count_ + 1) > slots_.size()) grow();
    place(allocation);
    ++count_;
  }
  /// Removes and returns the allocation that starts at `address`. Precondition: there is one.
  Allocation erase(const std::byte* address) {
    std::size_t hole = slot_of(address);
    while (slots_[hole].address != address) hole = next(hole);
    const Allocation taken = slots_[hole];
    // Entries behind the hole move up, so that no search ends at it.
    for (std::size_t i = next(hole); slots_[i].address != nullptr; i = next(i)) {
      const std::size_t home = slot_of(slots_[i].address);
      if (((i - home) & mask()) < ((i - hole) & mask())) continue;
      slots_[hole] = slots_[i];
      hole = i;
    }
    slots_[hole] = Allocation{};
    --count_;
    return taken;
  }
  /// The allocation that starts at `address`, or nullptr.
  const Allocation* find(const std::byte* address) const {
    if (slots_.empty()) return nullptr;
    for (std::size_t i = slot_of(address); slots_[i].address != nullptr; i = next(i))
      if (slots_[i].address == address) return &slots_[i];
    return nullptr;
  }
  std::size_t size() const { return count_; }

  /// Calls visit(const Allocation&) for each, in no order.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const Allocation& slot : slots_)
      if (slot.address != nullptr) visit(slot);
  }

 private:
  std::size_t mask() const { return slots_.size() - 1; }
  std::size_t next(std::size_t i) const { return (i + 1) & mask(); }
  std::size_t slot_of(const std::byte* address) const {
    const auto word = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(address)) >> 4;
    return static_cast<std::size_t>(word * 0x9e3779b97f4a7c15u >> 32) & mask();
  }
  void place(const Allocation& allocation) {
    std::size_t i = slot_of(allocation.address);
    while (slots_[i].address != nullptr) i = next(i);
    slots_[i] = allocation;
  }
  void grow() {
    std::vector<Allocation> before(slots_.empty() ? 4 : 2 * slots_.size());
    before.swap(slots_);
    for (const Allocation& allocation : before)
      if (allocation.address != nullptr) place(allocation);
  }

  std::vector<Allocation> slots_;
  std::size_t count_ = 0;
};

}  // namespace orrery::checker
