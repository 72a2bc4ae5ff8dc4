// SPDX-License-Identifier: Apache-2.0
//
// Memory that a guest shares with its network devices (vhost-user, SET_MEM_TABLE): regions of a
// file that are mapped here. Every address from the guest goes through `at`, which gives no pointer
// outside of the regions. All regions are of one file whose size cannot change. So every mapped
// byte can be accessed, and a guest cannot make this process use more memory than the guest has.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "../file.h"

namespace orrery::lab {

class GuestMemory {
 public:
  static constexpr std::size_t kMostRegions = 8;
  struct Region {
    std::uint64_t guest_address, bytes, file_offset;
  };

  GuestMemory() = default;
  ~GuestMemory() { clear(); }
  GuestMemory(const GuestMemory&) = delete;
  GuestMemory& operator=(const GuestMemory&) = delete;

  void clear();
  /// Throws GuestError if the region cannot be mapped. The file must be that of all regions,
  /// contain this region, and be sealed (memfd_create(2), F_SEAL_SHRINK and F_SEAL_GROW).
  void add(const Region& region, const File& file);

  /// nullptr unless all of `bytes` lie in one region.
  std::byte* at(std::uint64_t guest_address, std::uint64_t bytes) const {
    for (const Mapped& one : regions_) {
      const std::uint64_t offset = guest_address - one.guest_address;
      if (guest_address >= one.guest_address && offset <= one.bytes && bytes <= one.bytes - offset)
        return one.begin + offset;
    }
    return nullptr;
  }

 private:
  struct Mapped {
    std::uint64_t guest_address, bytes;
    std::byte* begin;
    void* mapping;
    std::size_t mapping_bytes;
  };
  std::vector<Mapped> regions_;
  std::optional<std::pair<dev_t, ino_t>> file_;  ///< the file of all regions
};

}  // namespace orrery::lab
