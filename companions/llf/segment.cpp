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
constexpr std::uint32_t kVersion = 2;

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
  if (memory_ == nullptr || header().sealed == 0) shm_unlink(name_);
}

/// The name is removed under the segment's lock, so no other segment had it until now.
void Segment::seal() {
  lock();
  remove();
  header().sealed = 1;
  unlock();
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

/// Locks the open file and checks its content; maps it if it is `ready`.
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

/// Makes a segment in an empty file, or over one whose maker died before it was complete.
bool Segment::make(const char* group, std::uint32_t slots, std::uint32_t tokens) {
  if (memory_ != nullptr) munmap(memory_, bytes_);
  memory_ = nullptr;
  const std::size_t bytes = bytes_for(slots);
  // Allocates the memory now, since a lack of memory at the first access would be a signal.
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

/// Opens the file with the group's name. `may_make`: makes a blank file if there is none.
Segment::Found Segment::find(const char* group, bool may_make) {
  snprintf(name_, sizeof name_, "/orrery-llf.%u.%s", static_cast<unsigned>(geteuid()), group);
  for (;;) {
    file_ = shm_open(name_, may_make ? O_RDWR | O_CREAT : O_RDWR, 0600);
    if (file_ < 0 && errno == ENOENT && !may_make) return Found::blank;
    if (file_ < 0) {
      say("the shared memory of group '%s' (/dev/shm%s) cannot be %s: %s", group, name_,
          may_make ? "made" : "opened", strerror(errno));
      return Found::failed;
    }
    const Found found = look(group);
    if (found != Found::gone) return found;
    close();  // the last federate left between opening and locking
  }
}

bool Segment::open(const char* group, bool& exists) {
  const Found found = find(group, false);
  exists = found != Found::blank;
  return found != Found::failed;
}

bool Segment::open_or_make(const char* group, std::uint32_t slots, std::uint32_t tokens) {
  for (;;) {
    const Found found = find(group, true);
    if (found == Found::failed) return false;
    if (found == Found::blank) return make(group, slots, tokens);
    if (anybody_lives()) return true;
    // A dead run's segment may still be mapped somewhere, so it is not used again.
    remove();
    close();
  }
}

}  // namespace orrery::llf
