// SPDX-License-Identifier: Apache-2.0
//
// Events to and from other ranks, and the meetings with them. At a meeting of this rank worker 0 meets
// the other ranks for all workers, while these wait: worker 0 is the only member of this rank's rounds
// (transport/rounds.h), and the only one that receives.
//
// Another rank may have left the meeting already and may send events of its next window. They are
// received early, which does no harm: they are after the window that begins here.
#pragma once

#include <optional>
#include <utility>

#include "engine/conservative/plan.h"
#include "run/events/event_pool.h"
#include "run/events/plain_event.h"
#include "run/ranks/link.h"
#include "run/threads/team.h"
#include "run/threads/waiting.h"
#include "transport/rounds.h"

namespace orrery::conservative {

/// A base of RankLink, since its other base needs it.
struct RankMeetings {
  using Rounds = transport::Rounds<Report>;
  Rounds meetings{1};
  transport::RoundMember<Rounds> member{meetings, 0};
};

class RankLink : private RankMeetings, public ranks::Link<ranks::ArrivedEvent, Report> {
 public:
  RankLink(transport::RankTransport& transport, unsigned workers, EventDepot& depot,
           std::size_t channel_messages);
  ~RankLink() { close(); }

  /// Meetings so far, for sends.
  std::uint64_t joined() const { return member.round(); }
  /// Meets the other ranks. Calls receive(PlainEvent*) for each event that was sent to this rank,
  /// then `report()`; returns the sum of the reports of all ranks; nothing if a worker has failed.
  template <class Receive, class MakeReport>
  std::optional<Report> meet(const Team& team, Receive&& receive, MakeReport&& report) {
    Meeting<Receive, MakeReport> meeting{*this, receive, report};
    Backoff backoff(team.crowded());
    for (std::uint64_t stage = rounds().stage(); !member.step(meeting);) {
      if (team.failed()) return std::nullopt;
      make_progress<ranks::NoSteps>();
      if (std::exchange(stage, rounds().stage()) != stage) {
        backoff.reset();
      } else {
        backoff.wait();
      }
      meeting.receive_all();
    }
    Report sum;
    for (unsigned rank = 0; rank < ranks(); ++rank) sum.add(rounds().report_of(rank));
    return sum;
  }

 private:
  /// The hooks of transport/rounds.h.
  template <class Receive, class MakeReport>
  struct Meeting {
    RankLink& link;
    Receive& receive;
    MakeReport& make_report;

    bool due() { return true; }
    void join() {
      for (unsigned worker = 0; worker < link.workers_; ++worker)
        link.egress(worker).post_all(link.joined());
    }
    bool delivered(std::uint64_t round) { return link.rounds().delivered(round); }
    Report report() {
      receive_all();
      return make_report();
    }
    bool settled(std::uint64_t round) { return link.rounds().settled(round); }
    bool adopt() { return true; }
    void receive_all() {
      link.drain(0, [this](ranks::ArrivedEvent arrived) { receive(arrived.event); });
    }
  };

  void take(unsigned from, const transport::Parcel& parcel);

  const unsigned workers_;
  EventPool<64> pool_;  ///< guarded by the transport's lock
};

}  // namespace orrery::conservative
