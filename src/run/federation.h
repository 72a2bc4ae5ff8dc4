// SPDX-License-Identifier: Apache-2.0
//
// Threads of a run that outnumber the cores, with those of the run's other ranks on the same host,
// as federates of liborrery-llf (docs/llf.md): at most as many run as there are cores, those of the
// least local virtual time (LVT). The system's scheduler knows nothing of virtual time: it lets
// some run far ahead, to be rolled back, while the one that holds GVT waits for a core, or gives
// the core to those who have nothing to do but to look for messages. Of Yoginath's dissertation
// ("Virtual time-aware virtual machine systems", Georgia Tech, 2014), chapters 5 and 6.
//
// Where nobody has to share a core there is no federation, and threads wait as waiting.h says.
//
// What an engine owes: it says how far it is and gives way between two batches (`step`), waits by
// `wait`, says what it has put where others find it (`note`, then `announce`), and never waits
// otherwise while it is a federate, but within `TokenAside`. Announcements that come too early or
// not at all cost time and nothing else: nobody sleeps longer than kLongestSleepNs.
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

/// Of a run: who its federates are. All ranks make theirs together, and as often.
class Federation {
 public:
  /// `ranks`: null if the run has no others. `is_long`: whether the threads live long enough for it
  /// to be worth coming together; the same on all ranks.
  Federation(const Team& team, transport::RankTransport* ranks, bool is_long);

  bool is_on() const { return !group_.empty(); }
  const std::string& group() const { return group_; }
  const Team& team() const { return team_; }
  transport::RankTransport* transport() const { return transport_; }
  unsigned rank() const { return rank_; }
  /// Federates of all ranks on this host.
  unsigned members() const { return members_; }
  /// Ranks on this host, by number; this one is among them.
  const std::vector<unsigned>& ranks_here() const { return ranks_here_; }
  unsigned ranks() const { return ranks_; }

 private:
  const Team& team_;
  transport::RankTransport* const transport_;
  unsigned rank_ = 0, ranks_ = 1, members_ = 0;
  std::vector<unsigned> ranks_here_;
  std::string group_;
};

/// A thread's part, for as long as it exists; by that thread alone.
class Federate {
 public:
  static constexpr std::int64_t kLongestSleepNs = 1'000'000;
  /// How long a token is kept. (PHOLD over 8 ranks on two cores: 1.3 to 2.1 times the rate without
  /// tokens, with 100 us 1.2 times, with 1 ms 1.3 times.)
  static constexpr std::int64_t kHoldNs = 300'000;

  /// Waits for the others, and for a token. Where there is no federation, or the system refuses
  /// one, this is none: `is_on` is false, and nothing else may be called.
  Federate(const Federation& federation, unsigned thread);
  Federate(const Federate&) = delete;
  Federate& operator=(const Federate&) = delete;
  ~Federate();

  bool is_on() const { return self_ != nullptr; }
  /// Why it is none though there is a federation; else empty.
  const std::string& refusal() const { return refusal_; }

  /// Before it looks for what others have put where it finds it.
  void look() { llf_messages_read(self_); }
  /// Between two batches: its next event has this time. Gives way to who is earlier.
  void step(Time lvt) {
    llf_lvt(self_, federate_time(lvt));
    llf_safe_point(self_);
  }
  /// It has nothing to do: sleeps until somebody announces something, or so long.
  void wait(Time lvt, std::int64_t most_ns = kLongestSleepNs);

  /// Something with this time is on its way to a thread of this rank.
  void note_thread(unsigned thread, Time time) { note(threads_[thread], time); }
  /// The same to another rank, once it is sent there.
  void note_rank(unsigned rank, Time time) {
    Time& lowest = rank_peers_[rank].unsent;
    lowest = std::min(lowest, time);
  }
  /// All that was noted for a rank is sent. `urgent`: with something that is not for its LPs.
  void note_sent(unsigned rank, bool urgent);
  /// What was noted and sent is there now: those who sleep wake, and who is later than it moves
  /// forward.
  void announce();
  /// All of them have something to do whatever their time is: a round has begun, or got on.
  void call_all();
  /// The same for those of this rank.
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

/// While it exists the calling thread, if it is a federate, has no token: for what waits for others
/// in another way.
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
