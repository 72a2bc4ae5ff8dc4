// SPDX-License-Identifier: Apache-2.0
//
// Rows of all ranks on their way to the sink, which is at rank 0. To the sink each rank is one
// worker: its watermark is the lowest of its workers'. A rank hands its rows over as it commits
// them, with credit of their own, so that rows that wait for a disk hold up no events.
//
// At rank 0 a thread takes what comes from others to the sink, because the sink may wait for the
// disk, and who makes progress must not. It sleeps when there is nothing, and gives credit back
// when the sink has taken a row. A rank without credit waits where it commits, as one process would
// wait for the disk, and makes progress meanwhile; the sink waits for no worker, so this ends.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "core/rows.h"
#include "transport/ranks/rank_transport.h"

namespace orrery {

class RankRows final : public RowSink {
 public:
  /// `sink`: at rank 0, may be null, then nobody wants rows; elsewhere it is ignored.
  RankRows(transport::RankTransport& ranks, RowSink* sink);
  ~RankRows() override;

  /// Whether rank 0 wants them.
  bool wanted() const { return wanted_; }

  void begin(unsigned workers) override;
  void commit(unsigned worker, RowBuffer& rows) override;
  void advance(unsigned worker, const Key& until) override;
  /// All ranks have handed over their rows up to here: waits until the sink has them. By all ranks.
  void flush();

 private:
  enum Kind : std::uint8_t { kRows, kWatermark, kFlush };
  using Message = std::pair<unsigned, transport::Parcel>;

  Key lowest() const;
  void send(Kind kind, const void* bytes, std::size_t count);
  void wait_for_credit();
  void pump();
  void take(unsigned from, const transport::Parcel& parcel);

  transport::RankTransport& ranks_;
  RowSink* const sink_;
  bool wanted_ = false;

  unsigned flushes_ = 0;  ///< flush() has been called so often

  std::mutex mutex_;  ///< guards the next two, and the sink where it is here
  std::vector<Key> watermarks_;
  Key told_;

  // At rank 0.
  std::mutex queue_mutex_;  ///< guards the next four
  std::condition_variable arrived_;
  std::deque<Message> queue_;
  unsigned flushed_ = 0;  ///< times that others have handed over everything up to then
  bool closing_ = false;
  std::exception_ptr failure_;
  std::thread thread_;
};

}  // namespace orrery
