// SPDX-License-Identifier: Apache-2.0
//
// Least-LVT-first scheduling for runs with more threads than cores: the threads, with those of the
// run's other ranks on the same host, are federates of liborrery-llf (companions/llf/README.md): at most as many
// run as there are cores, those with the least local virtual time (LVT). The system's scheduler
// does not know virtual time: it lets some threads run far ahead, to be rolled back, while the
// thread that holds GVT waits for a core, or gives the core to threads that only poll for messages.
// After Yoginath's dissertation ("Virtual time-aware virtual machine systems", Georgia Tech, 2014),
// chapters 5 and 6.
//
// If no threads share a core there is no federation, and threads wait as waiting.h says.
//
// Duties of an engine's thread while it is a federate: it reports its LVT and yields between two
// batches (`step`), waits by `wait`, reports events that it has put where others find them (`note`,
// then `announce`), and waits in other ways only within `TokenAside`. Early or missing
// announcements cost only time: no thread sleeps longer than kLongestSleepNs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "orrery/llf.h"
#include "orrery/time.h"

namespace orrery {

namespace transport {
class RankTransport;
}
class Team;

/// The federates of a run. All ranks construct their federations together, and equally often.
class Federation {
 public:
  /// `ranks`: null if the run has no others. `is_long`: whether the threads live long enough for
  /// joining to pay; the same on all ranks.
  Federation(const Team& team, transport::RankTransport* ranks, bool is_long);

  bool is_on() const { return !group_.empty(); }
  const std::string& group() const { return group_; }
  const Team& team() const { return team_; }
  transport::RankTransport* transport() const { return transport_; }
  unsigned rank() const { return rank_; }
  /// Number of federates of all ranks on this host.
  unsigned members() const { return members_; }
  /// Ranks on this host, by number, including this one.
  const std::vector<unsigned>& ranks_here() const { return ranks_here_; }
  unsigned ranks() const { return ranks_; }

 private:
  const Team& team_;
  transport::RankTransport* const transport_;
  unsigned rank_ = 0, ranks_ = 1, members_ = 0;
  std::vector<unsigned> ranks_here_;
  std::string group_;
};

/// A thread's membership, while this object lives; used by that thread alone.
class Federate {
 public:
  static constexpr std::int64_t kLongestSleepNs = 1'000'000;
  /// How long a token is kept. (PHOLD over 8 ranks on two cores: 1.3 to 2.1 times the rate without
  /// tokens, with 100 us 1.2 times, with 1 ms 1.3 times.)
  static constexpr std::int64_t kHoldNs = 300'000;

  /// Joins, and waits for the others and for a token. Without a federation, or if the system
  /// refuses to join, `is_on` is false, and no other function may be called.
  Federate(const Federation& federation, unsigned thread);
  Federate(const Federate&) = delete;
  Federate& operator=(const Federate&) = delete;
  ~Federate();

  bool is_on() const { return self_ != nullptr; }
  /// Why the thread could not join the federation; else empty.
  const std::string& refusal() const { return refusal_; }

  /// Call before looking for events of others.
  void look() { llf_messages_read(self_); }
  /// Between two batches: `lvt` is the time of the next event. Yields to federates with a smaller
  /// time.
  void step(Time lvt) {
    llf_lvt(self_, federate_time(lvt));
    llf_safe_point(self_);
  }
  /// Call when there is nothing to do: sleeps until an announcement, at most `most_ns`.
  void wait(Time lvt, std::int64_t most_ns = kLongestSleepNs);

  /// Notes something with this time for a thread of this rank.
  void note_thread(unsigned thread, Time time) { note(threads_[thread], time); }
  /// Notes the same for another rank; announced only after note_sent.
  void note_rank(unsigned rank, Time time) {
    Time& lowest = rank_peers_[rank].unsent;
    lowest = std::min(lowest, time);
  }
  /// Call when everything noted for a rank is sent. `urgent`: it includes messages not for LPs.
  void note_sent(unsigned rank, bool urgent);
  /// Announces what was noted and has now arrived: sleeping receivers wake, and those whose LVT is
  /// later than it move forward in the order.
  void announce();
  /// Announces work for all federates whatever their time: a round has begun, or made progress.
  void call_all();
  /// The same for the threads of this rank.
  void call_threads() { call(threads_); }

 private:
  struct Peer {
    int number = LLF_ERROR;  ///< LLF_ERROR: on another host, or this thread itself
    Time noted = Time::max(), unsent = Time::max();
  };

  static llf_time federate_time(Time time);
  void note(Peer& peer, Time time) {
    if (peer.noted == Time::max()) noted_.push_back(&peer);
    if (time < peer.noted) peer.noted = time;
  }
  void call(const std::vector<Peer>& peers);
  bool join(const Federation& federation, unsigned thread);
  void find_peers(const Federation& federation, unsigned thread);

  llf* self_ = nullptr;
  std::string refusal_;
  std::vector<Peer> threads_;     ///< of this rank
  std::vector<Peer> rank_peers_;  ///< the first thread of each rank
  std::vector<Peer*> noted_;
};

/// Gives up the token of the calling thread, if it is a federate, while this object lives: for
/// waiting for others in another way.
class TokenAside {
 public:
  TokenAside();
  ~TokenAside();
  TokenAside(const TokenAside&) = delete;
  TokenAside& operator=(const TokenAside&) = delete;

 private:
  llf* const self_;
};

}  // namespace orrery
