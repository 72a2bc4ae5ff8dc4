// SPDX-License-Identifier: Apache-2.0
//
// The channels of a cell. A busy channel is a record in dynamic memory, created when a call gets
// the channel and deleted when the call releases it. So a cell is an object graph as in ordinary
// C++ models, which an engine must be able to roll back.
//
// A call always gets the lowest free channel. A bitmap finds this channel with one instruction for
// every 64 channels. The bitmap also lets the scan over the busy channels, which dominates the cost
// of an event, skip the free ones without a branch on each. Memory grows with the largest number of
// simultaneous calls that a cell has had, not with the number of its channels.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace pcs {

enum MobileClass : std::uint32_t { kFast = 0, kSlow = 1 };

/// A call, as it moves from cell to cell; also the payload of a hand-off. Integers only and no
/// padding, so that it enters the fingerprint.
struct Call {
  std::int64_t started_ticks;
  std::int64_t ends_ticks;  ///< if the call is not dropped before
  std::uint32_t mobile;     ///< a MobileClass
  std::uint32_t handoffs;
};

struct BusyChannel {
  Call call;
  double gain;  ///< from the mobile's place to the base, without fading
  double path;  ///< the same with fading
  double power_w;
};

class ChannelSet {
 public:
  std::uint32_t busy() const { return busy_; }

  /// Gives the lowest free channel to a call. The caller enforces the number of channels.
  std::uint32_t acquire(const BusyChannel& record) {
    const std::uint32_t channel = lowest_free();
    if (channel == records_.size()) {
      records_.emplace_back();
      if (channel % 64 == 0) bitmap_.push_back(0);
    }
    records_[channel] = std::make_unique<BusyChannel>(record);
    bitmap_[channel / 64] |= std::uint64_t{1} << (channel % 64);
    ++busy_;
    return channel;
  }

  /// Frees a busy channel and returns its call.
  Call release(std::uint32_t channel) {
    const Call call = records_[channel]->call;
    records_[channel].reset();
    bitmap_[channel / 64] &= ~(std::uint64_t{1} << (channel % 64));
    --busy_;
    return call;
  }

  /// Calls `visit(channel, record)` for the busy channels, lowest first.
  template <class Visit>
  void for_each_busy(Visit&& visit) {
    scan(visit);
  }
  template <class Visit>
  void for_each_busy(Visit&& visit) const {
    scan([&](std::uint32_t channel, const BusyChannel& record) { visit(channel, record); });
  }

 private:
  template <class Visit>
  void scan(Visit&& visit) const {
    for (std::size_t word = 0; word < bitmap_.size(); ++word) {
      for (std::uint64_t bits = bitmap_[word]; bits != 0; bits &= bits - 1) {
        const auto channel = static_cast<std::uint32_t>(word * 64 + std::countr_zero(bits));
        visit(channel, *records_[channel]);
      }
    }
  }

  std::uint32_t lowest_free() const {
    std::uint32_t first = 0;
    for (const std::uint64_t word : bitmap_) {
      if (~word != 0) return first + static_cast<std::uint32_t>(std::countr_one(word));
      first += 64;
    }
    return first;
  }

  std::vector<std::unique_ptr<BusyChannel>> records_;  // by channel; null where it is free
  std::vector<std::uint64_t> bitmap_;                  // a bit for each channel: 1 is busy
  std::uint32_t busy_ = 0;
};

}  // namespace pcs
