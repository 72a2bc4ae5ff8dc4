// SPDX-License-Identifier: Apache-2.0
//
// This process as a federate: what the wrappers of MPI's functions have in common, without MPI. So
// it is compiled once, and the handles of an MPI are the business of the wrappers.
//
// A wrapper that waits begins the operation in its non-blocking form and looks whether it is
// complete. As long as it is not, its token is another's. It looks again when somebody has
// announced something, and, because not everything can be announced (ranks on other machines,
// spawned ones, ranks without a shim, one-sided operations), after a time that is as long as it has
// waited already, from 1 ms to 16 ms: so nothing is ever waited for more than twice as long as it
// takes, and if no announcement came at all, progress would still be made. Everything else here is
// speed.
//
// The federate is the thread that calls MPI_Init. With MPI_THREAD_MULTIPLE others may call MPI,
// too: they have no token, and look from time to time. A child of fork is no federate.
#pragma once

#include <atomic>
#include <cstdint>

#include "llf/handle.h"
#include "llf/mpi/idling.h"
#include "llf/mpi/stamp.h"

namespace orrery::llf::mpi {

/// World ranks: those whom a call can concern.
struct Ranks {
  const int* world;  ///< negative: in another world
  int count;
};

class Process {
 public:
  static constexpr std::int64_t kShortestNs = 1'000'000, kLongestNs = 16'000'000;
  static constexpr int kLooks = 4;  ///< before a token that nobody wants is given away

  /// Joins the group, if there is one, as the rank that the launcher has told of, without a token:
  /// before MPI is initialised, so that afterwards all know who is there.
  void join();
  /// MPI is initialised. Returns with a token.
  void begin(int rank, int ranks, bool is_spawned);
  /// Before MPI is finalised; and after.
  void pause();
  void resume();
  void leave();

  /// Whether calls are to be anything but what they are without a shim.
  bool takes_part() const { return federate_ != nullptr && is_at_home(); }
  /// Whether all ranks of MPI_COMM_WORLD are in the group: all say the same.
  bool all_are_here() const { return all_are_here_; }

  /// At calls that do not wait: others may be due.
  void pass() {
    if (!is_mine()) return;
    const std::int64_t now = coarse_now();
    if (unit_of(now) != unit_) see(now);
    federate()->safe_point();
  }

  /// Something for that rank is on its way.
  void tell(int world_rank, unsigned hops);
  /// The watchful among these have reason to look.
  void tell_watchful(const Ranks& ranks, unsigned hops);

  /// Until `look()`, which asks MPI. `watchful`: it waits for what nobody announces.
  template <class Look>
  void wait_until(bool watchful, Look&& look) {
    if (!is_mine()) return wait_outside(look);
    pass();
    read();
    if (look()) return pass_on();
    begin_wait(watchful);
    for (;;) {
      read();  // after the LVT says what is waited for: whoever does not see it is seen here
      const bool over = look();
      pass_on();
      if (over) break;
      if (!looks_on()) sleep();
    }
    end_wait();
  }

  /// Once, by `look()`; if it is one of many in a loop that finds nothing, the token is another's
  /// for a while, and it looks again.
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
  /// MPI has gone on here, perhaps: who is watchful is to know.
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
  std::atomic<int>* peers_ = nullptr;  ///< by world rank: 0, or 1 + what llf_find gives

  // The federate's thread alone.
  Time unit_ = 0;
  unsigned hops_ = 0;
  std::int64_t wait_begun_ns_ = 0, fruitless_ns_ = 0;
  int looks_ = 0;
  Idling idling_;
};

Process& process();

}  // namespace orrery::llf::mpi
