// SPDX-License-Identifier: Apache-2.0
//
// Directs threads of other processes, or only watches them. One thread keeps the beat, as a
// real-time thread above all that it directs; whoever owns the director is another, which looks for
// threads that have come, shows and writes, as ordinary as any. They meet over a lock that the
// first only tries.
//
// A virtual machine's core is taken away for milliseconds now and then, and where that is the one
// of the beat, threads of the other cores would run on meanwhile. So on another core the beat has a
// deputy, which wakes up a quarter of a tick later, and does the tick if nobody has begun it.
//
// What keeps the machine usable: directed ticks are a share of all ticks (`Duty`); a director that
// stands still is noticed by its guardian; and beneath both, the system's own bound on real-time
// threads holds, without which no director starts.
#pragma once

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
  /// Throws UsageError for whatever cannot be directed, before anything is changed.
  explicit Director(Orders orders);
  /// Gives all threads their scheduling back.
  ~Director();
  Director(const Director&) = delete;
  Director& operator=(const Director&) = delete;

  /// From here on threads are directed.
  void start();
  /// Looks for threads that have come; call it ten times a second. False when there is nothing
  /// left to direct, or the time is over. Throws what the beat could not go on with.
  bool look();
  /// Gives all threads their scheduling back.
  void stop();

  unsigned cores() const { return cores_number_; }
  double ceiling() const { return ceiling_; }
  const std::string& ceiling_reason() const { return ceiling_reason_; }
  SampleRing& samples() { return samples_; }
  /// As of the last moments; of the end after `stop`.
  Figures figures();
  std::vector<ThreadView> views();

 private:
  void choose_ceiling();
  void require_right() const;
  enum class Role : unsigned { beat, deputy };
  void keep_beat(Role role);
  void become_real_time(Role role) const;
  void stay_on_core(Role role) const;
  void begin();
  void tick_until_stopped(Role role);
  void tick();
  void meet();

  const Orders orders_;
  cpu_set_t cores_;
  unsigned cores_number_ = 0;
  double ceiling_ = 1;
  std::string ceiling_reason_;  ///< why it is not what was asked for; empty: it is
  Scanner scanner_;
  SampleRing samples_;
  std::unique_ptr<Roll> roll_;  // null: nothing is changed
  std::unique_ptr<Guardian> guardian_;
  std::unique_ptr<Beat> beat_;

  std::mutex ticking_;               ///< guards all of beat_, and the next two
  Nanoseconds start_ = 0, met_ = 0;  ///< of the beat, and when the two threads last met
  /// When the next tick is due. Written under ticking_; read without to know how long to sleep,
  /// where an old value only wakes a thread in vain: relaxed.
  std::atomic<Nanoseconds> next_{0};

  std::mutex meeting_;
  std::vector<Found> found_;
  std::vector<ThreadView> views_;
  std::optional<Figures> figures_;
  std::exception_ptr failure_;

  std::atomic<bool> stops_{false}, has_failed_{false}, is_empty_{false}, is_over_{false};
  std::thread thread_;
  std::thread deputy_;  ///< started and joined by that one
};

}  // namespace orrery::director
