// SPDX-License-Identifier: Apache-2.0
//
// The kernel's interface, from its documentation (admin-guide/mm/pagemap and userfaultfd); headers
// older than Linux 6.7 lack these definitions, kernels need not.
#include "checkpoint/page_tracker.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

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

std::string because(const char* what) {
  return std::string(what) + " (" + std::strerror(errno) + ")";
}

}  // namespace

PageTracker::PageTracker() {
  userfaultfd_ = static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | kUserModeOnly));
  if (userfaultfd_ < 0) {
    why_not_ = because("userfaultfd is not available");
    return;
  }
  uffdio_api api{};
  api.api = UFFD_API;
  api.features = kFeatureWriteProtectAsync | kFeatureWriteProtectUnpopulated;
  if (ioctl(userfaultfd_, UFFDIO_API, &api) != 0) {
    why_not_ = because("the kernel has no asynchronous write protection; Linux 6.7 has");
    return;
  }
  pagemap_ = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  if (pagemap_ < 0) why_not_ = because("/proc/self/pagemap cannot be opened");
}

PageTracker::~PageTracker() {
  // The kernel forgets what was watched when the last descriptor goes.
  if (userfaultfd_ >= 0) close(userfaultfd_);
  if (pagemap_ >= 0) close(pagemap_);
}

bool PageTracker::watch(std::byte* begin, std::byte* end) {
  if (!available()) return false;
  uffdio_register request{};
  request.range.start = reinterpret_cast<std::uintptr_t>(begin);
  request.range.len = static_cast<std::uint64_t>(end - begin);
  request.mode = UFFDIO_REGISTER_MODE_WP;
  return ioctl(userfaultfd_, UFFDIO_REGISTER, &request) == 0;
}

/// As many rows as fit; `reached` is where to go on. A scan that fails reports all as written.
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
