// SPDX-License-Identifier: Apache-2.0
#include "output/row_store.h"

#include <algorithm>
#include <chrono>
#include <tuple>
#include <utility>

#include "core/assert.h"

namespace orrery {
namespace {

constexpr std::size_t kAbsorbBytes = std::size_t{4} << 20;  // wakes the writer without a watermark
constexpr std::size_t kSpareBuffers = 64;
constexpr std::chrono::milliseconds kGathering{10};  // longest delay if no thread waits

}  // namespace

bool RowStore::Held::operator<(const Held& other) const {
  if (key != other.key) return key < other.key;
  return std::tie(lp, ordinal) < std::tie(other.lp, other.ordinal);
}

RowStore::RowStore(RowWriter& writer, std::function<void()> on_failure, std::size_t bound_bytes)
    : writer_(writer),
      on_failure_(std::move(on_failure)),
      bound_bytes_(bound_bytes),
      thread_([this] { run(); }) {}

RowStore::~RowStore() {
  join(Rest::written);
}

/// Rows before the key that the last team has reached may still wait for the writer, so the
/// watermarks of the new team begin at that key.
void RowStore::begin(unsigned workers) {
  const std::lock_guard lock(mutex_);
  const Key reached = lowest_watermark();
  ORRERY_ASSERT(std::all_of(watermarks_.begin(), watermarks_.end(),
                            [&](const Key& key) { return key == reached; }),
                "a team ends with all its watermarks at one key");
  watermarks_.assign(workers, reached);
}

void RowStore::commit(unsigned, RowBuffer& rows) {
  if (rows.empty()) return;
  std::unique_lock lock(mutex_);
  wait_for_writer(lock, [this] {
    return incoming_bytes_ + held_bytes_ < bound_bytes_ || !(busy_ || has_work());
  });
  const bool was_empty = !has_rows();
  incoming_bytes_ += rows.bytes();
  incoming_.push_back(std::move(rows));
  if (spare_.empty()) {
    rows = RowBuffer();
  } else {
    rows = std::move(spare_.back());
    spare_.pop_back();
  }
  if (was_empty || is_urgent()) work_.notify_one();
}

void RowStore::advance(unsigned worker, const Key& until) {
  const std::lock_guard lock(mutex_);
  if (worker >= watermarks_.size()) return;
  watermarks_[worker] = std::max(watermarks_[worker], until);
  if (is_urgent()) work_.notify_one();
}

void RowStore::drain() {
  std::unique_lock lock(mutex_);
  wait_for_writer(lock, [this] { return !busy_ && !has_work(); });
}

void RowStore::wait_for_writer(std::unique_lock<std::mutex>& lock,
                               const std::function<bool()>& is_met) {
  if (is_met()) return;
  ++waiting_;
  work_.notify_one();
  room_.wait(lock, is_met);
  --waiting_;
}

void RowStore::close(Rest rest) {
  join(rest);
  if (failure_) std::rethrow_exception(failure_);
}

void RowStore::join(Rest rest) {
  {
    const std::lock_guard lock(mutex_);
    if (!closing_) rest_ = rest;
    closing_ = true;
    work_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

bool RowStore::has_work() const {
  return closing_ || incoming_bytes_ > kAbsorbBytes ||
         (has_rows() && taken_to_ < lowest_watermark());
}

bool RowStore::is_urgent() const {
  return closing_ || incoming_bytes_ > kAbsorbBytes || (waiting_ != 0 && has_work());
}

Key RowStore::lowest_watermark() const {
  return watermarks_.empty() ? Key() : *std::min_element(watermarks_.begin(), watermarks_.end());
}

void RowStore::run() {
  std::vector<RowBuffer> batch;
  std::unique_lock lock(mutex_);
  for (bool last = false; !last;) {
    work_.wait(lock, [this] { return closing_ || has_rows(); });
    work_.wait_for(lock, kGathering, [this] { return is_urgent(); });
    if (!has_work()) continue;
    last = closing_;
    busy_ = true;
    batch.swap(incoming_);
    const std::size_t batch_bytes = std::exchange(incoming_bytes_, 0);
    held_bytes_ += batch_bytes;
    const Key limit = lowest_watermark();
    const bool advanced = std::exchange(taken_to_, limit) < limit;
    lock.unlock();
    guarded([&] {
      absorb(batch);
      if (last && rest_ == Rest::written)
        write_all();
      else if (last || advanced)
        write_before(limit);
    });
    lock.lock();
    for (RowBuffer& buffer : batch)
      if (spare_.size() < kSpareBuffers) spare_.push_back(std::move(buffer));
    batch.clear();
    held_bytes_ = held_.size() * sizeof(Held) + cells_.size() * sizeof(cells_[0]);
    busy_ = false;
    room_.notify_all();
  }
}

/// Runs `work`; after an exception nothing is written any more.
void RowStore::guarded(const std::function<void()>& work) {
  if (!failure_) {
    try {
      return work();
    } catch (...) {
      failure_ = std::current_exception();
      on_failure_();
    }
  }
  held_.clear();
  cells_.clear();
}

void RowStore::absorb(std::vector<RowBuffer>& buffers) {
  for (RowBuffer& buffer : buffers) {
    buffer.for_each([this](const Row& row) {
      held_.push_back({row.key, row.lp, row.ordinal, row.table,
                       static_cast<std::uint32_t>(row.cells.size()), cells_.size()});
      cells_.insert(cells_.end(), row.cells.begin(), row.cells.end());
    });
    buffer.clear();
  }
}

void RowStore::write_before(const Key& limit) {
  const auto ready =
      std::partition(held_.begin(), held_.end(), [&](const Held& row) { return row.key < limit; });
  std::vector<Held> rest(ready, held_.end());
  held_.erase(ready, held_.end());
  write_all();
  held_ = std::move(rest);
  compact();
}

void RowStore::write_all() {
  std::sort(held_.begin(), held_.end());
  for (const Held& row : held_) {
    writer_.write({row.key,
                   row.ordinal,
                   row.lp,
                   row.table,
                   {cells_.data() + row.first_cell, row.cell_count}});
  }
  held_.clear();
}

/// Drops the cells of rows that were written.
void RowStore::compact() {
  std::vector<std::uint64_t> cells;
  for (Held& row : held_) {
    const std::size_t first = cells.size();
    const auto from = cells_.begin() + static_cast<std::ptrdiff_t>(row.first_cell);
    cells.insert(cells.end(), from, from + row.cell_count);
    row.first_cell = first;
  }
  cells_ = std::move(cells);
}

}  // namespace orrery
