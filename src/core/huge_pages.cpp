// SPDX-License-Identifier: Apache-2.0
#include "core/huge_pages.h"

#include <sys/mman.h>

#include <cstdint>

namespace orrery::huge_pages {
namespace {

constexpr std::size_t kSmallPageBytes = 4096;

std::size_t whole_pages(std::size_t bytes) {
  return (bytes + kSmallPageBytes - 1) / kSmallPageBytes * kSmallPageBytes;
}

}  // namespace

void* map_small(std::size_t bytes) noexcept {
  void* memory =
      mmap(nullptr, whole_pages(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

void* map(std::size_t bytes) noexcept {
  // Maps a page more, and returns the parts before the first boundary and behind the end.
  bytes = whole_pages(bytes);
  auto* const range = static_cast<std::byte*>(map_small(bytes + kPageBytes));
  if (range == nullptr) return nullptr;
  const std::size_t before = -reinterpret_cast<std::uintptr_t>(range) % kPageBytes;
  std::byte* const base = range + before;
  if (before > 0) munmap(range, before);
  munmap(base + bytes, kPageBytes - before);
  madvise(base, bytes, MADV_HUGEPAGE);  // fails on a system without huge pages
  return base;
}

void unmap(void* memory, std::size_t bytes) noexcept {
  munmap(memory, whole_pages(bytes));
}

}  // namespace orrery::huge_pages
