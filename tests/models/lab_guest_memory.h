// SPDX-License-Identifier: Apache-2.0
//
// A guest's memory with two queues in it, as a driver would lay them out, for tests that play the
// guest.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>

#include "../../models/lab/uml/guest_memory.h"
#include "../../models/lab/uml/virtqueue.h"

namespace orrery::lab::testing {

class FakeMemory {
 public:
  static constexpr std::uint64_t kAddress = 0x100000, kBytes = 1 << 20;
  static constexpr std::uint32_t kEntries = 8;

  explicit FakeMemory(int seals = F_SEAL_SHRINK | F_SEAL_GROW)
      : file_(memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
    if (ftruncate(file_.get(), kBytes) != 0 || fcntl(file_.get(), F_ADD_SEALS, seals) != 0)
      std::abort();
    own_ = static_cast<std::byte*>(
        mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0));
  }
  ~FakeMemory() { munmap(own_, kBytes); }
  FakeMemory(const FakeMemory&) = delete;
  FakeMemory& operator=(const FakeMemory&) = delete;

  const File& file() const { return file_; }
  std::byte* at(std::uint64_t address) const { return own_ + (address - kAddress); }
  template <class Value>
  void put(std::uint64_t address, const Value& value) const {
    std::memcpy(at(address), &value, sizeof value);
  }
  template <class Value>
  Value get(std::uint64_t address) const {
    Value value;
    std::memcpy(&value, at(address), sizeof value);
    return value;
  }

 private:
  const File file_;
  std::byte* own_;
};

/// The driver's side of a queue.
class FakeQueue {
 public:
  FakeQueue(const FakeMemory& memory, std::uint64_t base) : memory_(&memory), base_(base) {}

  Virtqueue::Addresses addresses() const { return {base_, base_ + 0x400, base_ + 0x800}; }
  void describe(std::uint16_t index, std::uint64_t address, std::uint32_t bytes,
                std::uint16_t flags, std::uint16_t next = 0) const {
    const std::uint64_t at = base_ + 16 * index;
    memory_->put(at, address);
    memory_->put(at + 8, bytes);
    memory_->put(at + 12, flags);
    memory_->put(at + 14, next);
  }
  void offer(std::uint16_t head) {
    memory_->put(base_ + 0x404 + 2 * (offered_ % FakeMemory::kEntries), head);
    set_index(++offered_);
  }
  void set_index(std::uint16_t index) const { memory_->put(base_ + 0x402, index); }
  void set_flags(std::uint16_t flags) const { memory_->put(base_ + 0x400, flags); }
  std::uint16_t used() const { return memory_->get<std::uint16_t>(base_ + 0x802); }
  /// Head and bytes.
  std::array<std::uint32_t, 2> used_at(std::uint16_t index) const {
    return memory_->get<std::array<std::uint32_t, 2>>(base_ + 0x804 +
                                                      8 * (index % FakeMemory::kEntries));
  }

 private:
  const FakeMemory* memory_;
  std::uint64_t base_;
  std::uint16_t offered_ = 0;
};

}  // namespace orrery::lab::testing
