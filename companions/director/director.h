// SPDX-License-Identifier: Apache-2.0
//
// Directs threads of other processes, or only watches them. One thread keeps the beat, as a
// real-time thread with a higher priority than all directed threads. The owner of the director runs
// an ordinary thread, which looks for new threads, shows and writes. Both share data under a lock
// that the beat's thread only tries to take.
//
// A virtual machine's core is taken away for milliseconds now and then. If this is the core of the
// beat, threads on the other cores would run on meanwhile. So the beat has a deputy on another
// core, which wakes up a quarter of a tick later, and does the tick if the beat has not begun it.
//
// Three limits keep the machine usable: directed ticks are a share of all ticks (`Duty`); a
// guardian notices a director that does not tick any more; and the system's own bound on real-time
// threads holds, without which no director starts.
#pragma once

#include <semaphore.h>

#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "director/beat.h"
#include "director/guardian.h"
#include "director/orders.h"

namespace orrery::director {

class Director {
 public:
  /// Throws UsageError, before anything is changed, if something cannot be directed.
  explicit Director(Orders orders);
  /// Gives all threads their own scheduling back.
  ~Director();
  Director(const Director&) = delete;
  Director& operator=(const Director&) = delete;

  /// Of the threads to be directed. Call it before start().
  std::vector<std::pair<ThreadId, TaskClock>> task_clocks() const;
  /// Begins to direct threads.
  void start();
  /// Looks for new threads; call it ten times a second. False if there is nothing left to direct,
  /// or the time is over. Throws the exception that ended the beat.
  bool look();
  /// Gives all threads their own scheduling back.
  void stop();

  unsigned cores() const { return cores_number_; }
  double ceiling() const { return ceiling_; }
  const std::string& ceiling_reason() const { return ceiling_reason_; }
  SampleRing& samples() { return samples_; }
  /// The clocks after each tick, for one reader. If `orders.publishes_clocks`.
  ClockBoard& clocks() { return board_; }
  /// For the reader of the clocks: the next tick is now, although all threads are idle.
  void hurry();

  /// Settings while the director runs, within 50 ms. See Orders.
  struct Change {
    std::optional<Nanoseconds> tick = {};
    std::optional<double> ceiling = {};
    std::optional<std::pair<pid_t, double>> weight = {};
  };
  void change(const Change& change);
  /// At most 50 ms old; after `stop`, those of the end.
  Figures figures();
  std::vector<ThreadView> views();

 private:
  void choose_ceiling();
  void require_right() const;
  void require_counters() const;
  enum class Role : unsigned { beat, deputy };
  void keep_beat(Role role);
  void become_real_time(Role role) const;
  void stay_on_core(Role role) const;
  void begin();
  void sleep_until_due(Role role);
  void tick_until_stopped(Role role);
  void tick();
  void meet();

  const Orders orders_;
  cpu_set_t cores_;
  unsigned cores_number_ = 0;
  double ceiling_ = 1, most_ceiling_ = Orders::kMostCeiling;
  std::string ceiling_reason_;  ///< why it is lower than requested; empty: it is as requested
  Scanner scanner_;
  SampleRing samples_;
  ClockBoard board_;
  std::unique_ptr<Roll> roll_;  // null: nothing is changed
  std::unique_ptr<Guardian> guardian_;
  std::unique_ptr<Beat> beat_;

  std::mutex ticking_;               ///< guards beat_ and the next two members
  Nanoseconds start_ = 0, met_ = 0;  ///< first tick; last exchange of the two threads
  /// When the next tick is due. Written under ticking_, and by hurry(); read without it to know how
  /// long to sleep. Relaxed: an old value only wakes a thread in vain.
  std::atomic<Nanoseconds> next_{0};
  std::atomic<Nanoseconds> tick_;  ///< written under ticking_; relaxed: a value alone
  sem_t hurry_;                    ///< wakes the thread that keeps the beat

  std::mutex meeting_;
  std::vector<Found> found_;
  std::vector<Change> changes_;
  std::vector<ThreadView> views_;
  std::optional<Figures> figures_;
  std::exception_ptr failure_;

  std::atomic<bool> stops_{false}, has_failed_{false}, is_empty_{false}, is_over_{false};
  std::thread thread_;
  std::thread deputy_;  ///< thread_ starts and joins it
};

}  // namespace orrery::director
