// SPDX-License-Identifier: Apache-2.0
//
// The table of a world's LPs. In ordinary memory neighbouring records share cache lines, since one
// thread executes, or engines with several threads copy the records. In a world with LP heaps each
// record has a cache line of its own, whose second half belongs to the engine that has the world:
// the engine constructs its own record in place (`line`), and gives nothing back.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

#include "core/huge_pages.h"
#include "core/kernel_state.h"
#include "orrery/logical_process.h"

namespace orrery {

/// The platform's record of an LP. Records of engines derive from it.
struct LpEntry {
  LogicalProcessBase* object = nullptr;
  KernelState kernel;
};

class LpTable {
 public:
  static constexpr std::size_t kLineBytes = 64;
  /// A record in a world with heaps, as long as no engine has made it its own.
  struct alignas(kLineBytes) Line : LpEntry {};

  /// Records on lines are not constructed yet (`make_line`).
  LpTable(LpId count, bool on_lines) : count_(count), on_lines_(on_lines) { allocate(); }
  LpTable(const LpTable&) = delete;
  LpTable& operator=(const LpTable&) = delete;
  ~LpTable() { free(); }

  bool empty() const { return lines_ == nullptr && entries_.empty(); }
  LpEntry& operator[](LpId id) {
    return on_lines_ ? *reinterpret_cast<LpEntry*>(lines_ + id * kLineBytes) : entries_[id];
  }
  const LpEntry& operator[](LpId id) const {
    return on_lines_ ? *reinterpret_cast<const LpEntry*>(lines_ + id * kLineBytes) : entries_[id];
  }
  void make_line(LpId id) { new (lines_ + id * kLineBytes) Line; }
  /// The records as an engine uses them: `Record` is LpEntry in ordinary memory, else Line or a
  /// record of the engine of the same size, which the engine constructs first (`take`).
  template <class Record>
  Record* data() {
    if constexpr (sizeof(Record) == sizeof(LpEntry)) {
      return entries_.data();
    } else {
      static_assert(sizeof(Record) == kLineBytes);
      return reinterpret_cast<Record*>(lines_);
    }
  }
  /// Constructs an engine's record in place of another engine's.
  template <class Record>
  Record& take(LpId id) {
    const LpEntry entry = (*this)[id];
    auto* const record = new (lines_ + id * kLineBytes) Record;
    static_cast<LpEntry&>(*record) = entry;
    return *record;
  }
  std::size_t bytes_per_lp() const { return on_lines_ ? kLineBytes : sizeof(LpEntry); }

  // For engines whose records lie elsewhere: frees the table, and makes it again.
  void free() {
    std::vector<LpEntry, HugePageAllocator<LpEntry>>().swap(entries_);
    if (lines_ != nullptr) Lines().deallocate(reinterpret_cast<Line*>(lines_), count_);
    lines_ = nullptr;
  }
  void restore() {
    allocate();
    if (!on_lines_) return;
    for (LpId id = 0; id < count_; ++id) make_line(id);
  }

 private:
  using Lines = HugePageAllocator<Line>;

  void allocate() {
    if (on_lines_) {
      lines_ = reinterpret_cast<std::byte*>(Lines().allocate(count_));
    } else {
      entries_.resize(count_);
    }
  }

  const LpId count_;
  const bool on_lines_;
  std::vector<LpEntry, HugePageAllocator<LpEntry>> entries_;
  std::byte* lines_ = nullptr;
};

}  // namespace orrery
