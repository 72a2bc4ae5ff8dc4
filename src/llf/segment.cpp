// SPDX-License-Identifier: Apache-2.0
//
// shm_open, flock, mmap.
#include "llf/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <new>

#include "llf/sentence.h"

namespace orrery::llf {

namespace {

constexpr std::uint64_t kMagic = 0x31666c6c2d79726f;  // "oyr-llf1", as bytes
constexpr std::uint32_t kVersion = 1;

using LinuxSlot = Slot<Linux>;
static_assert(sizeof(LinuxSlot) == 64, "a federate has one line");

constexpr std::size_t slots_begin() {
  return (sizeof(Header) + 63) / 64 * 64;
}
constexpr std::size_t bytes_for(std::uint32_t slots) {
  return slots_begin() + slots * (sizeof(LinuxSlot) + sizeof(Life));
}

}  // namespace

Schedule<Linux> Segment::schedule() const {
  auto* slots = reinterpret_cast<LinuxSlot*>(static_cast<char*>(memory_) + slots_begin());
  return {header().shared, slots, lives(), header().slots};
}

Life* Segment::lives() const {
  return reinterpret_cast<Life*>(static_cast<char*>(memory_) + slots_begin() +
                                 header().slots * sizeof(LinuxSlot));
}

bool Segment::lock() {
  int failed;
  while ((failed = flock(file_, LOCK_EX)) != 0 && errno == EINTR) continue;
  return failed == 0;
}

void Segment::unlock() {
  flock(file_, LOCK_UN);
}

void Segment::remove() {
  shm_unlink(name_);
}

void Segment::close() {
  if (memory_ != nullptr) munmap(memory_, bytes_);
  if (file_ >= 0) ::close(file_);
  memory_ = nullptr;
  file_ = -1;
}

bool Segment::map(std::size_t bytes, const char* group) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
  if (memory == MAP_FAILED) {
    say("the shared memory of group '%s' (/dev/shm%s) cannot be mapped: %s", group, name_,
        strerror(errno));
    return false;
  }
  memory_ = memory;
  bytes_ = bytes;
  return true;
}

/// What the open file holds, once it is locked; mapped if it is `ready`.
Segment::Found Segment::look(const char* group) {
  struct stat status;
  if (!lock() || fstat(file_, &status) != 0) {
    say("the shared memory of group '%s' (/dev/shm%s) cannot be locked: %s", group, name_,
        strerror(errno));
    return Found::failed;
  }
  if (status.st_nlink == 0) return Found::gone;
  if (status.st_uid != geteuid()) {
    say("the shared memory of group '%s' (/dev/shm%s) belongs to user %u; it is not used, since "
        "that user could change what is in it",
        group, name_, static_cast<unsigned>(status.st_uid));
    return Found::failed;
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return Found::blank;
  if (size < sizeof(Header) || !map(size, group)) {
    if (size < sizeof(Header))
      say("/dev/shm%s is no group of llf; remove it, or name the group '%s' otherwise", name_,
          group);
    return Found::failed;
  }
  if (header().magic == 0) return Found::blank;
  if (header().magic != kMagic || header().version != kVersion || header().slots > kMostSlots ||
      size != bytes_for(header().slots)) {
    say("/dev/shm%s, of group '%s', was made by another version of liborrery-llf, or is none of "
        "its "
        "segments; if no simulation uses it, remove it",
        name_, group);
    return Found::failed;
  }
  return Found::ready;
}

bool Segment::anybody_lives() {
  const Schedule<Linux> schedule = this->schedule();
  for (unsigned i = 0; i < schedule.count(); ++i)
    if (state_of(schedule.word(i)) != State::free && !lives()[i].take_if_dead()) return true;
  return false;
}

/// From nothing, or over what somebody began to make and died.
bool Segment::make(const char* group, std::uint32_t slots, std::uint32_t tokens) {
  if (memory_ != nullptr) munmap(memory_, bytes_);
  memory_ = nullptr;
  const std::size_t bytes = bytes_for(slots);
  // Memory that is not there is missed here and not at the first access, by a signal.
  if (ftruncate(file_, 0) != 0 || ftruncate(file_, static_cast<off_t>(bytes)) != 0 ||
      (errno = posix_fallocate(file_, 0, static_cast<off_t>(bytes))) != 0) {
    say("there is no room for the shared memory of group '%s' (%zu bytes in /dev/shm): %s", group,
        bytes, strerror(errno));
    return false;
  }
  if (!map(bytes, group)) return false;
  Header& header = *new (memory_) Header();
  header.version = kVersion;
  header.slots = slots;
  header.asked_tokens = tokens;
  header.maker = getpid();
  header.shared.lock.make();
  const Schedule<Linux> schedule = this->schedule();
  for (unsigned i = 0; i < slots; ++i) {
    new (&schedule.slot(i)) LinuxSlot();
    lives()[i].lock.make();
  }
  header.magic = kMagic;
  return true;
}

bool Segment::open(const char* group, bool& exists) {
  snprintf(name_, sizeof name_, "/orrery-llf.%u.%s", static_cast<unsigned>(geteuid()), group);
  exists = true;
  for (;;) {
    file_ = shm_open(name_, O_RDWR, 0);
    if (file_ < 0 && errno == ENOENT) {
      exists = false;
      return true;
    }
    if (file_ < 0) {
      say("the shared memory of group '%s' (/dev/shm%s) cannot be opened: %s", group, name_,
          strerror(errno));
      return false;
    }
    switch (look(group)) {
      case Found::failed:
        return false;
      case Found::ready:
        return true;
      case Found::blank:
        exists = false;
        return true;
      case Found::gone:
        close();
    }
  }
}

bool Segment::open_or_make(const char* group, std::uint32_t slots, std::uint32_t tokens) {
  snprintf(name_, sizeof name_, "/orrery-llf.%u.%s", static_cast<unsigned>(geteuid()), group);
  for (;;) {
    file_ = shm_open(name_, O_RDWR | O_CREAT, 0600);
    if (file_ < 0) {
      say("the shared memory of group '%s' (/dev/shm%s) cannot be made: %s", group, name_,
          strerror(errno));
      return false;
    }
    switch (look(group)) {
      case Found::failed:
        return false;
      case Found::ready:
        if (anybody_lives()) return true;
        // What a dead run has left may still be mapped somewhere, so it is not used again.
        remove();
        close();
        break;
      case Found::blank:
        return make(group, slots, tokens);
      case Found::gone:  // its last federate has left between opening and locking
        close();
    }
  }
}

}  // namespace orrery::llf
