// SPDX-License-Identifier: Apache-2.0
#include "engine/checker/guard.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "memory/poison.h"
#include "memory/region.h"

namespace orrery::checker {
namespace {

using memory::FreeStatus;
using memory::kPoisons;

constexpr std::size_t kScrubbedBytes = 4096;

void fill(std::byte* begin, std::size_t bytes, WorldIndex world) {
  std::memset(begin, std::to_integer<int>(fill_of(world)), bytes);
}

/// The first byte that does not hold the world's pattern, or nullptr.
const std::byte* first_written(const std::byte* begin, std::size_t bytes, WorldIndex world) {
  const std::uint64_t word = 0x0101010101010101u * std::to_integer<std::uint64_t>(fill_of(world));
  const std::byte* const end = begin + bytes;
  for (; end - begin >= 8; begin += 8) {
    std::uint64_t found;
    std::memcpy(&found, begin, 8);
    if (found != word) break;
  }
  const std::byte* const written =
      std::find_if(begin, end, [&](std::byte b) { return b != fill_of(world); });
  return written == end ? nullptr : written;
}

}  // namespace

void Guard::begin(LpMemory& lp, WorldIndex world, WorldIndex stack_world,
                  std::vector<AllocationStep>& steps, const void* stack_end) {
  lp_ = &lp;
  world_ = world;
  stack_world_ = stack_world;
  steps_ = &steps;
  stack_end_ = stack_end;
  damage_.reset();
}

std::optional<Overrun> Guard::damage() {
  if (kPoisons || damage_) return damage_;
  lp_->live.for_each([&](const Allocation& allocation) {
    if (const auto found = damaged_slack(allocation); found && !damage_) damage_ = found;
  });
  if (damage_) return damage_;
  lp_->heap.for_each_free([&](const std::byte* begin, std::size_t bytes, std::size_t) {
    if (damage_) return;
    if (const std::byte* written = first_written(begin, bytes, world_))
      damage_ = Overrun{Overrun::Kind::free_chunk, written, *written, {}};
  });
  return damage_;
}

std::optional<Overrun> Guard::damaged_slack(const Allocation& allocation) const {
  const std::byte* const slack = allocation.address + allocation.bytes;
  const std::byte* const written =
      first_written(slack, allocation.chunk_bytes - allocation.bytes, world_);
  if (written == nullptr) return std::nullopt;
  return Overrun{Overrun::Kind::slack, written, *written, allocation};
}

void Guard::fill_free(LpMemory& lp, WorldIndex world) {
  if (kPoisons) {  // the sanitizer watches free chunks; a restore loses the poison of the slack
    lp.live.for_each([](const Allocation& allocation) {
      memory::poison_slack(allocation.address, allocation.bytes, allocation.chunk_bytes);
    });
    return;
  }
  lp.heap.for_each_free(
      [&](std::byte* begin, std::size_t bytes, std::size_t) { fill(begin, bytes, world); });
}

void Guard::undo(LpMemory& lp, const std::vector<AllocationStep>& steps) {
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    if (step->allocates) {
      lp.live.erase(step->allocation.address);
      --lp.allocated;
    } else {
      lp.live.insert(step->allocation);
    }
  }
}

void Guard::redo(LpMemory& lp, const std::vector<AllocationStep>& steps) {
  for (const AllocationStep& step : steps) {
    if (step.allocates) {
      lp.live.insert(step.allocation);
      ++lp.allocated;
    } else {
      lp.live.erase(step.allocation.address);
    }
  }
}

// The functions that serve these requests lie below on the stack, and their part is overwritten: a
// model that reads uninitialised variables must not find their frame pointers there.
void* Guard::allocate(std::size_t bytes, std::size_t alignment) noexcept {
  void* const pointer = serve(bytes, alignment, __builtin_frame_address(0));
  scrub_stack(stack_world_);
  return pointer;
}

void Guard::deallocate(void* pointer) noexcept {
  take_back(pointer);
  scrub_stack(stack_world_);
}

[[gnu::noinline]] void* Guard::serve(std::size_t bytes, std::size_t alignment,
                                     const void* frame) noexcept {
  memory::LpHeap& heap = lp_->heap;
  const std::size_t runs = heap.run_count();
  void* const pointer = alignment <= memory::kMinAlignmentBytes ? heap.allocate(bytes)
                                                                : heap.allocate(bytes, alignment);
  if (pointer != nullptr) {
    Allocation allocation;
    allocation.address = static_cast<std::byte*>(pointer);
    allocation.bytes = bytes;
    allocation.chunk_bytes = heap.usable_size(pointer);
    allocation.ordinal = ++lp_->allocated;
    remember_place(allocation, frame);
    if (kPoisons || heap.run_count() != runs) {  // new memory has no pattern yet
      memory::unpoison(pointer, allocation.chunk_bytes);
      fill(allocation.address, allocation.chunk_bytes, world_);
      memory::poison_slack(pointer, bytes, allocation.chunk_bytes);
      if (!kPoisons) fill_free(*lp_, world_);
    }
    const std::size_t steps = steps_->size();
    try {
      steps_->push_back({true, allocation});
      lp_->live.insert(allocation);
    } catch (const std::bad_alloc&) {  // no memory for the checker's lists: refuse the request
      if (steps_->size() > steps) steps_->pop_back();
      heap.deallocate(pointer);
      --lp_->allocated;
      return nullptr;
    }
  }
  return pointer;
}

[[gnu::noinline]] void Guard::take_back(void* pointer) noexcept {
  const auto* known = lp_->live.find(static_cast<std::byte*>(pointer));
  if (known != nullptr && !kPoisons && !damage_) damage_ = damaged_slack(*known);
  const FreeStatus status = lp_->heap.deallocate(pointer);
  if (status != FreeStatus::ok) {
    memory::report_heap_misuse(misuse_of(status), pointer);
  } else {
    const Allocation allocation = lp_->live.erase(static_cast<std::byte*>(pointer));
    steps_->push_back({false, allocation});
    freed_[freed_next_++ % kRememberedFrees] = allocation;
    if (!kPoisons) fill(allocation.address, allocation.chunk_bytes, world_);
  }
}

void* Guard::reallocate(void* pointer, std::size_t bytes) noexcept {
  const auto* known = lp_->live.find(static_cast<std::byte*>(pointer));
  if (known == nullptr) {
    deallocate(pointer);  // reports what is wrong with the pointer
    return nullptr;
  }
  const std::size_t kept = std::min(known->bytes, bytes);
  void* const moved = allocate(bytes, memory::kMinAlignmentBytes);
  if (moved != nullptr) {
    std::memcpy(moved, pointer, kept);
    deallocate(pointer);
  }
  return moved;
}

const Allocation* Guard::last_freed_at(const std::byte* address) const {
  for (std::size_t n = 1; n <= freed_.size(); ++n) {
    const Allocation& freed = freed_[(freed_next_ + kRememberedFrees - n) % kRememberedFrees];
    if (freed.address != nullptr && freed.covers(address)) return &freed;
  }
  return nullptr;
}

/// Follows the frame pointers from `innermost` on. Code compiled without frame pointers leaves
/// other values there, so each step must go up within this handler's part of the stack.
__attribute__((no_sanitize("address", "undefined"))) void Guard::remember_place(
    Allocation& allocation, const void* innermost) const {
  const auto* frame = static_cast<const std::uintptr_t*>(innermost);
  const auto end = reinterpret_cast<std::uintptr_t>(stack_end_);
  for (std::size_t i = 0; i < Allocation::kFrames; ++i) {
    allocation.place[i] = reinterpret_cast<const void*>(frame[1]);
    const std::uintptr_t next = frame[0];
    if (next <= reinterpret_cast<std::uintptr_t>(frame) || next + 16 > end || next % 16 != 0)
      return;
    frame = reinterpret_cast<const std::uintptr_t*>(next);
  }
}

[[gnu::noinline]] __attribute__((no_sanitize("address", "undefined"))) void scrub_stack(
    WorldIndex world) {
  unsigned char below[kScrubbedBytes];
  std::memset(below, std::to_integer<int>(fill_of(world)), sizeof below);
  asm volatile("" : : "r"(below) : "memory");
}

}  // namespace orrery::checker
