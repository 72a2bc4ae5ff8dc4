// SPDX-License-Identifier: Apache-2.0
//
// Reports which pages of LP memory were written since the last query.
//
// The kernel does the tracking if it can. With userfaultfd write protection in asynchronous mode
// the kernel resolves the first write to a page by itself, and the PAGEMAP_SCAN request lists the
// written pages and protects them again (Linux 6.7). Measured on a virtual machine: 1.2 to 2 us a
// page for the write, 3 us for a scan of 1 MiB. Protecting with mprotect and catching SIGSEGV cost
// 7 to 18 us a page and more for each protection; comparing 1 MiB with its copy costs 44 us. So if
// the kernel cannot track, all pages count as written, and the comparison finds the changes.
//
// Memory must be registered for tracking, and a registered range is a mapping of its own, of which
// a process may have 65,530 (vm.max_map_count). So whole *windows* of the region of LP memory are
// registered, shared by all LPs in them. Neighbouring windows are one mapping, an *island*, and LP
// memory is dense. Registered memory costs nothing until its owner scans it. The number of islands
// is bounded; memory that would need a further island is not tracked.
//
// One tracker serves all workers of a run, since a mapping can be registered with one userfaultfd
// only, and windows hold memory of several workers. Registering takes a lock; scanning does not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>

namespace orrery::checkpoint {

class PageTracker {
 public:
  static constexpr std::size_t kPageBytes = 4096;
  static constexpr std::size_t kWindowBytes = std::size_t{1} << 20;

  /// A quarter of the mappings that the system allows a process: an island adds two at most.
  static std::size_t islands_of_system();

  explicit PageTracker(std::size_t most_islands = islands_of_system())
      : most_islands_(most_islands) {}
  ~PageTracker();
  PageTracker(const PageTracker&) = delete;
  PageTracker& operator=(const PageTracker&) = delete;

  /// Tracks writes to [begin, end), whole pages of LP memory. Returns false if that is not
  /// possible. All pages count as written until they are collected, except pages that were
  /// collected before and not written since. Thread-safe.
  bool watch(std::byte* begin, std::byte* end) noexcept;
  /// Ends the tracking that watch() began. Thread-safe.
  void unwatch(std::byte* begin, std::byte* end) noexcept;

  /// Number of islands, the ranges of neighbouring registered windows.
  std::size_t islands() const;
  /// Why some or all writes are not tracked although this was requested; else empty.
  std::string note() const;

  /// Calls visit(begin, end), in order of address, for each row of pages in [begin, end) that were
  /// written since the last call. The range must be watched.
  template <class Visit>
  void collect(std::byte* begin, std::byte* end, Visit&& visit) {
    Pages pages[kPagesAtOnce];
    while (begin < end) {
      std::byte* reached = end;
      const int count = scan(begin, end, pages, &reached);
      for (int i = 0; i < count; ++i)
        visit(reinterpret_cast<std::byte*>(pages[i].begin),
              reinterpret_cast<std::byte*>(pages[i].end));
      begin = reached;
    }
  }

 private:
  static constexpr int kPagesAtOnce = 32;
  struct Pages {  // the kernel's layout
    std::uint64_t begin, end, categories;
  };
  using Window = std::uintptr_t;  // address / kWindowBytes

  bool open();
  void use(Window first, Window last);
  void drop(Window first, Window last);
  void forget_idle(Window window, Window step);
  bool known(Window window) const { return users_.contains(window); }
  std::size_t neighbours(Window window) const {
    return users_.count(window - 1) + users_.count(window + 1);
  }
  bool do_register(Window first, Window last);
  void do_unregister(Window window);
  int scan(std::byte* begin, std::byte* end, Pages* pages, std::byte** reached);

  const std::size_t most_islands_;
  mutable std::mutex mutex_;
  // Guarded by the mutex, except the descriptors: a caller that scans has called watch() before.
  bool opened_ = false;
  int userfaultfd_ = -1;
  int pagemap_ = -1;
  std::string why_not_;
  std::unordered_map<Window, std::uint32_t> users_;  ///< users of each registered window; may be 0
  std::size_t islands_ = 0;
  bool refused_ = false;  ///< some memory is not tracked, for want of islands or mappings
};

}  // namespace orrery::checkpoint
