// SPDX-License-Identifier: Apache-2.0
//
// This process as a federate: the code of the wrappers that does not depend on MPI. So it is
// compiled once; only the wrappers use the handles of an MPI.
//
// A wrapper that waits begins the operation in its non-blocking form and tests whether it is
// complete. Until then the wrapper gives its token away. It tests again after an announcement. Not
// everything can be announced (ranks on other machines, spawned ones, ranks without a shim,
// one-sided operations), so it also tests again after a time as long as it has waited already, from
// 1 ms to 16 ms. So a wait takes at most twice as long as the operation, and without any
// announcement there would still be progress; announcements only make it faster.
//
// The federate is the thread that calls MPI_Init. With MPI_THREAD_MULTIPLE other threads may call
// MPI, too: they have no token, and test from time to time. A child of fork is no federate.
#pragma once

#include <atomic>
#include <cstdint>

#include "llf/handle.h"
#include "llf/mpi/idling.h"
#include "llf/mpi/stamp.h"

namespace orrery::llf::mpi {

/// The world ranks that a call can concern.
struct Ranks {
  const int* world;  ///< negative: in another world
  int count;
};

class Process {
 public:
  static constexpr std::int64_t kShortestNs = 1'000'000, kLongestNs = 16'000'000;
  static constexpr int kLooks = 4;  ///< tests before an unwanted token is given away

  /// Joins the group, if there is one, without a token, under the rank that the launcher has set.
  /// Call it before MPI is initialised, so that afterwards each rank finds all others.
  void join();
  /// Call it when MPI is initialised. Returns with a token.
  void begin(int rank, int ranks, bool is_spawned);
  /// Call pause() before MPI is finalised, and resume() and leave() after.
  void pause();
  void resume();
  void leave();

  /// Whether calls differ from those without a shim.
  bool takes_part() const { return federate_ != nullptr && is_at_home(); }
  /// Whether all ranks of MPI_COMM_WORLD are in the group; the same on all ranks.
  bool all_are_here() const { return all_are_here_; }

  /// A safe point, for calls that do not wait.
  void pass() {
    if (!is_mine()) return;
    const std::int64_t now = coarse_now();
    if (unit_of(now) != unit_) see(now);
    federate()->safe_point();
  }

  /// Announces to that rank that a message is under way.
  void tell(int world_rank, unsigned hops);
  /// Announces to the watchful ranks among `ranks` that they should test again.
  void tell_watchful(const Ranks& ranks, unsigned hops);

  /// Waits until `look()`, which tests MPI, is true. `watchful`: it waits for something that nobody
  /// announces.
  template <class Look>
  void wait_until(bool watchful, Look&& look) {
    if (!is_mine()) return wait_outside(look);
    pass();
    read();
    if (look()) return pass_on();
    begin_wait(watchful);
    for (;;) {
      read();  // after the LVT is set: an announcer that misses the LVT has made its change visible
               // here
      const bool over = look();
      pass_on();
      if (over) break;
      if (!looks_on()) sleep();
    }
    end_wait();
  }

  /// Calls `look()` once. In a loop that only polls, gives the token away for a while and calls
  /// `look()` again.
  template <class Look>
  void poll(Look&& look) {
    if (!is_mine()) return static_cast<void>(look());
    pass();
    read();
    const bool found = look();
    pass_on();
    if (found) {
      idling_.found();
      fruitless_ns_ = 0;
      return;
    }
    if (!idling_.fruitless(now)) return;
    begin_wait(true);
    read();
    if (!look()) {
      sleep_in_a_loop();
      read();
      look();
    }
    pass_on();
    end_wait();
  }

 private:
  static std::int64_t now();
  static std::int64_t coarse_now();
  static Time latest_overdue();

  bool is_at_home() const;
  bool is_mine() const;
  Federate<Linux>* federate() const { return &*federate_->federate; }

  void see(std::int64_t now_ns) {
    unit_ = unit_of(now_ns);
    federate()->set_lvt(lvt_stamp(now_ns, false));
  }
  void read() {
    const unsigned hops = hops_of(federate()->reading_messages());
    if (hops > hops_) hops_ = hops;
  }
  /// The call may have made MPI progress here, so the watchful ranks should test again.
  void pass_on() {
    if (hops_ == 0) return;
    const unsigned hops = hops_ - 1;
    hops_ = 0;
    tell_all_watchful(hops);
  }

  void begin_wait(bool watchful);
  void end_wait();
  bool looks_on();
  void sleep();
  void sleep_in_a_loop();
  static std::int64_t rest(std::int64_t nap_ns);

  template <class Look>
  void wait_outside(Look& look) {
    for (std::int64_t nap_ns = 0; !look();) nap_ns = rest(nap_ns);
  }

  int peer_of(int world_rank);
  int find(const char* name);
  void name_of(int world_rank, char* name, unsigned long room) const;
  bool announce_if_watchful(unsigned slot, Time time);
  void tell_all_watchful(unsigned hops);

  ::llf* federate_ = nullptr;
  bool all_are_here_ = false;
  char world_[16] = {};  ///< part of the names of a world's ranks
  int rank_ = -1, ranks_ = 0;
  std::atomic<int>* peers_ = nullptr;  ///< by world rank: 0, or 1 + the number from llf_find

  // Used by the federate's thread only.
  Time unit_ = 0;
  unsigned hops_ = 0;
  std::int64_t wait_begun_ns_ = 0, fruitless_ns_ = 0;
  int looks_ = 0;
  Idling idling_;
};

Process& process();

}  // namespace orrery::llf::mpi
