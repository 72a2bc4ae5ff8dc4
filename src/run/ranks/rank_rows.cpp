// SPDX-License-Identifier: Apache-2.0
#include "run/ranks/rank_rows.h"

#include <algorithm>
#include <cstring>

#include "run/threads/federation.h"
#include "run/threads/waiting.h"
#include "transport/ranks/bytes.h"

namespace orrery {

using transport::ByteReader;
using transport::ByteWriter;
using transport::Lane;
using transport::Parcel;

RankRows::RankRows(transport::RankTransport& ranks, RowSink* sink)
    : ranks_(ranks), sink_(ranks.rank() == 0 ? sink : nullptr) {
  ByteWriter own;
  own.put(sink_ != nullptr);
  const std::vector<Parcel> all = ranks_.gather_everywhere(own.take());
  wanted_ = ByteReader(all[0]).get<bool>();
  if (sink_ == nullptr) return;
  sink_->begin(ranks_.ranks());
  thread_ = std::thread([this] { pump(); });
  const std::lock_guard lock(ranks_.mutex());
  ranks_.receive_with(Lane::rows, [this](unsigned from, Parcel parcel) {
    const std::lock_guard queue_lock(queue_mutex_);
    queue_.emplace_back(from, std::move(parcel));
    arrived_.notify_one();
  });
}

RankRows::~RankRows() {
  if (sink_ == nullptr) return;
  {
    const std::lock_guard lock(ranks_.mutex());
    ranks_.receive_with(Lane::rows, {});
  }
  {
    const std::lock_guard lock(queue_mutex_);
    closing_ = true;
    arrived_.notify_one();
  }
  thread_.join();
}

Key RankRows::lowest() const {
  return watermarks_.empty() ? Key() : *std::min_element(watermarks_.begin(), watermarks_.end());
}

void RankRows::begin(unsigned workers) {
  const std::lock_guard lock(mutex_);
  watermarks_.assign(workers, lowest());
}

void RankRows::commit(unsigned, RowBuffer& rows) {
  if (rows.empty()) return;
  if (sink_ != nullptr) {
    const std::lock_guard lock(mutex_);
    return sink_->commit(0, rows);
  }
  const std::span<const std::uint64_t> words = rows.words();
  send(kRows, words.data(), words.size_bytes());
  rows.clear();
  wait_for_credit();
}

/// Under the lock, so that a rank's watermarks are sent in order, and behind the rows that they
/// cover.
void RankRows::advance(unsigned worker, const Key& until) {
  const std::lock_guard lock(mutex_);
  if (worker >= watermarks_.size()) return;
  watermarks_[worker] = std::max(watermarks_[worker], until);
  const Key reached = lowest();
  if (reached <= told_) return;
  told_ = reached;
  if (sink_ != nullptr) return sink_->advance(0, reached);
  send(kWatermark, &reached, sizeof reached);
}

void RankRows::send(Kind kind, const void* bytes, std::size_t count) {
  Parcel parcel(count);
  parcel.append(bytes, count);
  parcel.head().kind = kind;
  ranks_.post(0, Lane::rows, std::move(parcel));
}

void RankRows::wait_for_credit() {
  ranks_.try_progress();
  if (!ranks_.is_short_of_credit(0, Lane::rows)) return;
  const TokenAside aside;
  Backoff backoff(true);
  for (; ranks_.is_short_of_credit(0, Lane::rows); backoff.wait()) ranks_.try_progress();
}

void RankRows::flush() {
  if (!wanted_) return;
  ++flushes_;
  if (sink_ == nullptr) {
    send(kFlush, nullptr, 0);
    return ranks_.wait_until([this] { return !ranks_.is_short_of_credit(0, Lane::rows); });
  }
  ranks_.wait_until([this] {
    const std::lock_guard lock(queue_mutex_);
    return failure_ != nullptr || flushed_ == flushes_ * (ranks_.ranks() - 1);
  });
  const std::lock_guard lock(queue_mutex_);
  if (failure_) std::rethrow_exception(failure_);
}

void RankRows::pump() {
  std::unique_lock lock(queue_mutex_);
  for (;;) {
    arrived_.wait(lock, [this] { return closing_ || !queue_.empty(); });
    if (queue_.empty()) return;
    Message message = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    try {
      take(message.first, message.second);
    } catch (...) {
      const std::lock_guard again(queue_mutex_);
      if (failure_ == nullptr) failure_ = std::current_exception();
    }
    {
      const std::lock_guard ranks_lock(ranks_.mutex());
      ranks_.give_back(message.first, Lane::rows, message.second.image_bytes());
    }
    lock.lock();
    if (message.second.head().kind == kFlush) ++flushed_;
  }
}

void RankRows::take(unsigned from, const Parcel& parcel) {
  if (parcel.head().kind == kFlush) return;
  if (parcel.head().kind == kWatermark) {
    const auto until = ByteReader(parcel).get<Key>();
    const std::lock_guard lock(mutex_);
    return sink_->advance(from, until);
  }
  RowBuffer rows =
      RowBuffer::of({reinterpret_cast<const std::uint64_t*>(parcel.data()), parcel.size() / 8});
  const std::lock_guard lock(mutex_);
  sink_->commit(from, rows);
}

}  // namespace orrery
