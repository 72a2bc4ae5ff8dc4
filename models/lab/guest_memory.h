// SPDX-License-Identifier: Apache-2.0
//
// Memory that a guest shares with its network devices (vhost-user, SET_MEM_TABLE): regions of files
// that are mapped here. Every address that comes from the guest goes through `at`, which knows no
// way outside. All regions are of one file, whose size cannot change: so what is mapped can be
// touched, and the guest cannot have us touch more memory than it has.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "file.h"

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
  /// Throws GuestError for what cannot be mapped: the file must have all of the region and keep it
  /// (memfd_create(2), F_SEAL_SHRINK and F_SEAL_GROW), and be the one of the regions before.
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
  std::optional<std::pair<dev_t, ino_t>> file_;  ///< whose regions they are
};

}  // namespace orrery::lab
