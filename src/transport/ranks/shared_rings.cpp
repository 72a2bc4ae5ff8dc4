// SPDX-License-Identifier: Apache-2.0
#include "transport/ranks/shared_rings.h"

#include <sys/mman.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <new>
#include <string>

#include "transport/ranks/wire.h"

namespace orrery::transport {
namespace {

/// A page for the states of a ring, so that its bytes begin at a page.
constexpr std::size_t kStateBytes = 4096;
static_assert(sizeof(RingState) <= kStateBytes);
// Bytes of a rank's rings to all others together, within limits for each ring: the lower limit
// holds a parcel that is written at once; above the upper limit a ring no longer fits into a cache.
constexpr std::size_t kBytesOfARank = std::size_t{1} << 20;
constexpr std::size_t kLeastBytes = std::size_t{32} << 10, kMostBytes = std::size_t{256} << 10;

std::size_t capacity_for(unsigned ranks) {
  return std::clamp(std::bit_floor(kBytesOfARank / ranks), kLeastBytes, kMostBytes);
}

std::size_t bytes_for(unsigned ranks) {
  return std::size_t{ranks} * ranks * (kStateBytes + capacity_for(ranks));
}

}  // namespace

int SharedRings::create(unsigned ranks) {
  const int memory = memfd_create("orrery-ranks", MFD_CLOEXEC);
  if (memory < 0) return -1;
  if (ftruncate(memory, static_cast<off_t>(bytes_for(ranks))) == 0) return memory;
  const int why = errno;
  close(memory);
  errno = why;
  return -1;
}

/// The texts lie behind the rings.
void SharedRings::write_about(int memory, unsigned ranks, unsigned rank, std::string_view text) {
  const std::string_view most = text.substr(0, kAboutBytes);
  // Without it a message is shorter.
  static_cast<void>(!pwrite(memory, most.data(), most.size(),
                            static_cast<off_t>(bytes_for(ranks) + rank * kAboutBytes)));
}

std::string SharedRings::read_about(int memory, unsigned ranks, unsigned rank) {
  std::string text(kAboutBytes, '\0');
  const ssize_t bytes = pread(memory, text.data(), text.size(),
                              static_cast<off_t>(bytes_for(ranks) + rank * kAboutBytes));
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(bytes, 0)));
  return text.substr(0, text.find('\0'));
}

SharedRings::SharedRings(int memory, unsigned ranks)
    : ranks_(ranks), capacity_(capacity_for(ranks)) {
  void* const base = mmap(nullptr, bytes_for(ranks), PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
  if (base == MAP_FAILED)
    throw RankRefused(std::string("the system refused the memory that ranks share: ") +
                      std::strerror(errno));
  base_ = static_cast<std::byte*>(base);
}

SharedRings::~SharedRings() {
  munmap(base_, bytes_for(ranks_));
}

/// Pages of zeros are states of empty rings, so neither side constructs them.
RingState& SharedRings::state(unsigned from, unsigned to) const {
  std::byte* const place = base_ + (std::size_t{from} * ranks_ + to) * (kStateBytes + capacity_);
  return *std::launder(reinterpret_cast<RingState*>(place));
}

std::byte* SharedRings::bytes(unsigned from, unsigned to) const {
  return reinterpret_cast<std::byte*>(&state(from, to)) + kStateBytes;
}

RingWriter SharedRings::writer(unsigned from, unsigned to) const {
  return {state(from, to), bytes(from, to), capacity_};
}

RingReader SharedRings::reader(unsigned from, unsigned to) const {
  return {state(from, to), bytes(from, to), capacity_};
}

}  // namespace orrery::transport
