// SPDX-License-Identifier: Apache-2.0
//
// Rows of all ranks on their way to the sink at rank 0. To the sink each rank is one worker, whose
// watermark is the lowest of the rank's workers. A rank sends its rows as it commits them, with
// separate credit, so that rows that wait for a disk do not hold up events.
//
// At rank 0 a thread passes rows of other ranks to the sink, because the sink may wait for the
// disk, and the thread that makes progress must not. It sleeps when there is nothing, and returns
// credit when the sink has taken a row. A rank without credit waits where it commits, as a single
// process would wait for the disk, and makes progress meanwhile; the sink waits for no worker, so
// this ends.
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
  /// `sink`: at rank 0, null to discard rows; elsewhere ignored.
  RankRows(transport::RankTransport& ranks, RowSink* sink);
  ~RankRows() override;

  /// Whether rank 0 wants rows.
  bool wanted() const { return wanted_; }

  void begin(unsigned workers) override;
  void commit(unsigned worker, RowBuffer& rows) override;
  void advance(unsigned worker, const Key& until) override;
  /// Called by all ranks after they have handed over their rows: waits until the sink has them.
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

  unsigned flushes_ = 0;  ///< number of calls of flush()

  std::mutex mutex_;  ///< guards the next two, and the sink if it is here
  std::vector<Key> watermarks_;
  Key told_;

  // At rank 0.
  std::mutex queue_mutex_;  ///< guards the next four
  std::condition_variable arrived_;
  std::deque<Message> queue_;
  unsigned flushed_ = 0;  ///< number of flush messages from other ranks
  bool closing_ = false;
  std::exception_ptr failure_;
  std::thread thread_;
};

}  // namespace orrery
