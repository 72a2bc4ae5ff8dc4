// SPDX-License-Identifier: Apache-2.0
//
// The kernel's interface, from its documentation (admin-guide/mm/pagemap and userfaultfd). Headers
// older than Linux 6.7 lack these definitions even if the running kernel is newer.
#include "checkpoint/page_tracker.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <new>
#include <utility>

namespace orrery::checkpoint {
namespace {

constexpr std::uint64_t kFeatureWriteProtectUnpopulated = 1u << 13;
constexpr std::uint64_t kFeatureWriteProtectAsync = 1u << 15;
constexpr int kUserModeOnly = 1;

struct ScanRequest {
  std::uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
  std::uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};
constexpr std::uint64_t kScanProtectMatching = 1, kScanCheckAsync = 2;
constexpr std::uint64_t kPageIsWritten = 1u << 1;
constexpr unsigned long kPagemapScan = _IOWR('f', 16, ScanRequest);

std::uintptr_t window_of(const std::byte* address) {
  return reinterpret_cast<std::uintptr_t>(address) / PageTracker::kWindowBytes;
}

std::string because(const char* what) {
  return std::string(what) + " (" + std::strerror(errno) + ")";
}

}  // namespace

std::size_t PageTracker::islands_of_system() {
  std::size_t most_mappings = 65'530;  // the system's own default
  std::ifstream("/proc/sys/vm/max_map_count") >> most_mappings;
  return most_mappings / 8;
}

PageTracker::~PageTracker() {
  // The kernel ends all tracking when the last descriptor is closed.
  if (userfaultfd_ >= 0) close(userfaultfd_);
  if (pagemap_ >= 0) close(pagemap_);
}

bool PageTracker::open() {
  if (std::exchange(opened_, true)) return why_not_.empty();
  userfaultfd_ = static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | kUserModeOnly));
  if (userfaultfd_ < 0) {
    why_not_ = because("userfaultfd is not available");
    return false;
  }
  uffdio_api api{};
  api.api = UFFD_API;
  api.features = kFeatureWriteProtectAsync | kFeatureWriteProtectUnpopulated;
  if (ioctl(userfaultfd_, UFFDIO_API, &api) != 0) {
    why_not_ = because("the kernel has no asynchronous write protection; Linux 6.7 has");
    return false;
  }
  pagemap_ = ::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  if (pagemap_ < 0) why_not_ = because("/proc/self/pagemap cannot be opened");
  return why_not_.empty();
}

// ---- Windows

bool PageTracker::watch(std::byte* begin, std::byte* end) noexcept {
  const std::lock_guard lock(mutex_);
  try {
    if (!open()) return false;
    const Window first = window_of(begin), last = window_of(end - 1);
    Window window = first - 1;
    while (window <= last + 1 && !known(window)) ++window;
    const bool new_island = window > last + 1;
    if (!new_island || islands_ < most_islands_) {
      use(first, last);
      if (do_register(first, last)) return true;
      drop(first, last);
    }
  } catch (const std::bad_alloc&) {
    // The memory is then compared.
  }
  refused_ = true;
  return false;
}

void PageTracker::unwatch(std::byte* begin, std::byte* end) noexcept {
  const std::lock_guard lock(mutex_);
  drop(window_of(begin), window_of(end - 1));
}

/// Adds a user to these windows. Throws std::bad_alloc and then changes nothing.
void PageTracker::use(Window first, Window last) {
  Window window = first;
  try {
    for (; window <= last; ++window) {
      const auto [place, added] = users_.try_emplace(window, 0);
      ++place->second;
      // A window with one neighbour is no new island; one with two neighbours joins two islands.
      if (added) islands_ = islands_ + 1 - neighbours(window);
    }
  } catch (const std::bad_alloc&) {
    if (window > first) drop(first, window - 1);
    throw;
  }
}

/// Removes a user. Windows without users are unregistered only from the ends of their island
/// inwards, since a gap within would make two islands of one.
void PageTracker::drop(Window first, Window last) {
  for (Window window = first; window <= last; ++window) --users_[window];
  for (Window window = first; window <= last; ++window) {
    if (!known(window - 1)) forget_idle(window, 1);
    if (!known(window + 1)) forget_idle(window, Window(0) - 1);
  }
}

void PageTracker::forget_idle(Window window, Window step) {
  for (; known(window) && users_[window] == 0; window += step) {
    do_unregister(window);
    users_.erase(window);
    islands_ = islands_ + neighbours(window) - 1;
  }
}

/// Windows that are registered already stay registered.
bool PageTracker::do_register(Window first, Window last) {
  uffdio_register request{};
  request.range.start = first * kWindowBytes;
  request.range.len = (last - first + 1) * kWindowBytes;
  request.mode = UFFDIO_REGISTER_MODE_WP;
  return ioctl(userfaultfd_, UFFDIO_REGISTER, &request) == 0;
}

/// If the system refuses, the window stays registered, which costs a mapping and does no harm.
void PageTracker::do_unregister(Window window) {
  uffdio_range range{};
  range.start = window * kWindowBytes;
  range.len = kWindowBytes;
  ioctl(userfaultfd_, UFFDIO_UNREGISTER, &range);
}

std::size_t PageTracker::islands() const {
  const std::lock_guard lock(mutex_);
  return islands_;
}

std::string PageTracker::note() const {
  const std::lock_guard lock(mutex_);
  if (!why_not_.empty()) return "incremental checkpoints compare all memory: " + why_not_;
  if (!refused_) return {};
  return "incremental checkpoints compare some memory in full: to track writes to all of it would "
         "take more than " +
         std::to_string(most_islands_) +
         " separate ranges, or more mappings than the system allows (vm.max_map_count)";
}

/// Reports as many rows as fit; `reached`: where to go on. If the scan fails, all count as written.
int PageTracker::scan(std::byte* begin, std::byte* end, Pages* pages, std::byte** reached) {
  ScanRequest request{};
  request.size = sizeof request;
  request.flags = kScanProtectMatching | kScanCheckAsync;
  request.start = reinterpret_cast<std::uintptr_t>(begin);
  request.end = reinterpret_cast<std::uintptr_t>(end);
  request.vec = reinterpret_cast<std::uintptr_t>(pages);
  request.vec_len = kPagesAtOnce;
  request.category_mask = kPageIsWritten;
  request.return_mask = kPageIsWritten;
  const int count = ioctl(pagemap_, kPagemapScan, &request);
  if (count >= 0 && request.walk_end > request.start) {
    *reached = reinterpret_cast<std::byte*>(request.walk_end);
    return count;
  }
  pages[0] = {request.start, request.end, kPageIsWritten};
  *reached = end;
  return 1;
}

}  // namespace orrery::checkpoint
