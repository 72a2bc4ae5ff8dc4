// SPDX-License-Identifier: Apache-2.0
#include "guest_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "../guest_error.h"

namespace orrery::lab {

void GuestMemory::clear() {
  for (const Mapped& one : regions_) munmap(one.mapping, one.mapping_bytes);
  regions_.clear();
}

void GuestMemory::add(const Region& region, const File& file) {
  if (regions_.size() == kMostRegions) throw GuestError("it shares too many regions of memory");
  struct stat status {};
  if (fstat(file.get(), &status) != 0) throw GuestError("it shares memory without a file");
  constexpr int kKeptSize = F_SEAL_SHRINK | F_SEAL_GROW;
  const int seals = fcntl(file.get(), F_GET_SEALS);
  if (seals < 0 || (seals & kKeptSize) != kKeptSize)
    throw GuestError("it shares memory that it could take away again");
  const std::pair own(status.st_dev, status.st_ino);
  if (file_.value_or(own) != own) throw GuestError("it shares other memory than before");
  const auto file_bytes = static_cast<std::uint64_t>(status.st_size);
  if (region.bytes == 0 || region.file_offset > file_bytes ||
      region.bytes > file_bytes - region.file_offset)
    throw GuestError("it shares more memory than its file has");
  if (region.guest_address + region.bytes < region.guest_address)
    throw GuestError("it shares memory at addresses that do not exist");
  // Maps from the file's beginning, as the region's offset need not be a multiple of a page.
  const auto bytes = static_cast<std::size_t>(region.file_offset + region.bytes);
  void* const mapping = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (mapping == MAP_FAILED) throw GuestError("its memory cannot be mapped");
  file_ = own;
  regions_.push_back({region.guest_address, region.bytes,
                      static_cast<std::byte*>(mapping) + region.file_offset, mapping, bytes});
}

}  // namespace orrery::lab
