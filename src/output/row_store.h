// SPDX-License-Identifier: Apache-2.0
//
// Puts the rows that workers commit into one order, (key, LP, ordinal), and hands them to a writer.
//
// Fossil collection gives the rows of a worker in no order. Each worker gives a watermark: the key
// before which all its rows have been handed over. So all rows before the lowest watermark of all
// workers are complete; the store sorts and writes them, and holds the others. A thread of the
// store sorts and writes. A worker only swaps a buffer under a mutex, at commit, never on the event
// path. If the disk is too slow, workers wait in `commit`, which bounds memory, but only while the
// writer has rows that it can write: rows that wait for a slow worker's watermark never block
// another worker, so the two cannot wait for each other.
//
// Watermarks rise up to 50,000 times a second, and to wake a thread costs 20 us and takes a core
// from another thread. So a new watermark wakes no thread. The store's thread sleeps while there
// are no rows; otherwise it checks the watermarks periodically, so that the writer gets committed
// rows within 10 ms. A thread that waits for the writer wakes it earlier. (Two conservative workers
// that had nothing to write took 1.6 times as long when each watermark woke the thread.)
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
  /// are dropped, and `close` throws the writer's exception. `bound_bytes`: workers wait while more
  /// bytes of rows are handed over and not yet written.
  RowStore(RowWriter& writer, std::function<void()> on_failure,
           std::size_t bound_bytes = kDefaultBoundBytes);
  ~RowStore() override;
  RowStore(const RowStore&) = delete;
  RowStore& operator=(const RowStore&) = delete;

  void begin(unsigned workers) override;
  void commit(unsigned worker, RowBuffer& rows) override;
  void advance(unsigned worker, const Key& until) override;

  /// Waits until the writer has all rows before the lowest watermark. No worker may commit
  /// meanwhile.
  void drain();

  /// If a run has failed, only the rows before the lowest watermark are complete; `dropped` drops
  /// the others.
  enum class Rest : std::uint8_t { written, dropped };
  /// Writes all rows, whatever the watermarks are, or, with Rest::dropped, the complete ones only.
  /// Ends the thread.
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
  unsigned waiting_ = 0;  // threads that wait for the writer
  Key taken_to_;          // the writer has taken all rows before this key
  bool busy_ = false, closing_ = false;
  Rest rest_ = Rest::written;  // written with closing_

  // Used by the store's thread only.
  std::vector<Held> held_;
  std::vector<std::uint64_t> cells_;
  std::exception_ptr failure_;  // read by close() after the thread has ended
  std::thread thread_;
};

}  // namespace orrery
