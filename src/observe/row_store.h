// SPDX-License-Identifier: Apache-2.0
//
// Puts the rows that workers commit into one order, (key, LP, ordinal), and hands them to a writer.
//
// A worker commits rows in the order in which its LPs are fossil-collected, which is no order at
// all. What it does promise is a watermark: everything of its own before a key has been handed
// over. What lies before the lowest watermark of all workers is therefore complete; it is sorted
// and written, the rest is held. Sorting and writing happen in a thread of the store: a worker only
// swaps a buffer under a mutex, at commit, never on the event path. If the disk cannot keep up,
// workers wait there (that is the bound on memory), but only while the writer has something that it
// can write: rows that wait for a slow worker's watermark never stop another worker, so that the
// two cannot wait for each other.
//
// Watermarks rise up to 50,000 times a second, and to wake a thread costs 20 us and another thread
// its core. So no watermark does: the store's thread sleeps while there are no rows, and where
// there are, it looks every now and then how far they are complete, so that what is committed is
// handed to the writer within 10 ms. It is woken before by who waits for it. (Two conservative
// workers that had nothing to write took 1.6 times as long when each watermark woke it.)
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "core/rows.h"

namespace orrery {

/// Receives rows in their final order, from one thread.
class RowWriter {
 public:
  virtual ~RowWriter() = default;
  virtual void write(const Row& row) = 0;
};

class RowStore final : public RowSink {
 public:
  static constexpr std::size_t kDefaultBoundBytes = std::size_t{64} << 20;

  /// `on_failure`: called once, from the store's thread, when the writer throws; from then on rows
  /// are dropped and `close` throws what the writer threw. `bound_bytes`: rows handed over and not
  /// yet written beyond which workers wait.
  RowStore(RowWriter& writer, std::function<void()> on_failure,
           std::size_t bound_bytes = kDefaultBoundBytes);
  ~RowStore() override;
  RowStore(const RowStore&) = delete;
  RowStore& operator=(const RowStore&) = delete;

  void begin(unsigned workers) override;
  void commit(unsigned worker, RowBuffer& rows) override;
  void advance(unsigned worker, const Key& until) override;

  /// Waits until the writer has all rows before the lowest watermark. While nobody commits any.
  void drain();

  /// Of a run that has failed, what lies before the lowest watermark is whole, and the rest is not.
  enum class Rest : std::uint8_t { written, dropped };
  /// Writes all that was handed over, whatever the watermarks are, or what is whole, and ends the
  /// thread.
  void close(Rest rest = Rest::written);

 private:
  struct Held {
    Key key;
    LpId lp;
    std::uint32_t ordinal, table, cell_count;
    std::size_t first_cell;  // in cells_
    bool operator<(const Held& other) const;
  };

  void run();
  bool has_rows() const { return incoming_bytes_ != 0 || held_bytes_ != 0; }
  bool has_work() const;
  bool is_urgent() const;
  void wait_for_writer(std::unique_lock<std::mutex>& lock, const std::function<bool()>& is_met);
  Key lowest_watermark() const;
  void absorb(std::vector<RowBuffer>& buffers);
  void write_before(const Key& limit);
  void write_all();
  void compact();
  void guarded(const std::function<void()>& work);
  void join(Rest rest);

  RowWriter& writer_;
  const std::function<void()> on_failure_;
  const std::size_t bound_bytes_;

  // Guarded by mutex_.
  std::mutex mutex_;
  std::condition_variable work_, room_;
  std::vector<Key> watermarks_;  // empty until begin()
  std::vector<RowBuffer> incoming_, spare_;
  std::size_t incoming_bytes_ = 0, held_bytes_ = 0;
  unsigned waiting_ = 0;  // for the writer
  Key taken_to_;          // the writer has been sent for everything before
  bool busy_ = false, closing_ = false;
  Rest rest_ = Rest::written;  // written with closing_

  // Of the store's thread alone.
  std::vector<Held> held_;
  std::vector<std::uint64_t> cells_;
  std::exception_ptr failure_;  // read by close() after the thread has ended
  std::thread thread_;
};

}  // namespace orrery
