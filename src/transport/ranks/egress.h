// SPDX-License-Identifier: Apache-2.0
//
// The records that a worker sends to other ranks. Records for one rank are collected in a parcel
// (aggregation: one system call and one message for hundreds of events). A parcel is posted when it
// is full, or when the worker posts all: when a parcel is old, the worker is idle, or it joins a
// round.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/cycles.h"
#include "transport/ranks/parcel.h"
#include "transport/ranks/rank_rounds.h"
#include "transport/ranks/rank_transport.h"

namespace orrery::transport {

class Egress {
 public:
  explicit Egress(RankTransport& transport)
      : transport_(transport), open_(transport.ranks()), counts_(transport.ranks()) {}

  /// Returns room for a record of `bytes` bytes, a multiple of 8, which the caller writes.
  /// `joined`: number of rounds that the worker has joined so far, here and below.
  std::byte* extend(unsigned to, std::size_t bytes, std::uint64_t joined) {
    Parcel& parcel = open_[to];
    if (parcel.size() >= kParcelBytes) post(to, joined);
    if (is_empty_) opened_cycles_ = read_cycles();
    is_empty_ = false;
    if (parcel.empty()) parcel = Parcel(kParcelBytes + kLastRecordBytes);
    return parcel.extend(bytes);
  }
  /// Whether no record was added since the last post_all().
  bool is_empty() const { return is_empty_; }
  bool is_old() const { return !is_empty_ && read_cycles() - opened_cycles_ >= kOldestCycles; }
  void post_all(std::uint64_t joined) {
    if (is_empty_) return;
    for (unsigned to = 0; to < open_.size(); ++to)
      if (!open_[to].empty()) post(to, joined);
    is_empty_ = true;
  }
  SentCounts& counts() { return counts_; }

 private:
  static constexpr std::size_t kParcelBytes = 32 * 1024, kLastRecordBytes = 512;
  inline static const std::uint64_t kOldestCycles = cycles_in(50e-6);

  void post(unsigned to, std::uint64_t joined) {
    counts_.note(to, joined);
    open_[to].head().word = static_cast<std::uint32_t>(joined);
    transport_.post(to, Lane::events, std::move(open_[to]));
  }

  RankTransport& transport_;
  std::vector<Parcel> open_;  ///< by rank
  SentCounts counts_;
  std::uint64_t opened_cycles_ = 0;
  bool is_empty_ = true;
};

/// A rank's egresses, by worker.
using Egresses = std::vector<std::unique_ptr<Egress>>;

inline Egresses make_egresses(RankTransport& transport, unsigned workers) {
  Egresses all;
  for (unsigned worker = 0; worker < workers; ++worker)
    all.push_back(std::make_unique<Egress>(transport));
  return all;
}
inline std::vector<SentCounts*> counts_of(const Egresses& egresses) {
  std::vector<SentCounts*> counts;
  for (const auto& egress : egresses) counts.push_back(&egress->counts());
  return counts;
}

}  // namespace orrery::transport
