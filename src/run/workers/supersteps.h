// SPDX-License-Identifier: Apache-2.0
//
// Supersteps: workers of all ranks send events to each other while they execute, then meet, and
// then each has all events that were sent to it (Valiant: A bridging model for parallel
// computation. CACM 33(8), 1990). A meeting also adds up a report of each worker, so that all take
// the same decisions from the same sums.
//
// A meeting is a round (transport/rounds.h) for which the workers wait. An event for a worker of
// the same rank goes into a list of this pair of workers. The sender appends to the list until it
// joins the round; the receiver empties the list after all have joined and before it reports; the
// sender appends again after all have reported. So two threads never touch a list at once, and no
// event is in transit after a meeting. Events for other ranks go through a link (run/ranks/link.h),
// which says when all of them have arrived. Another rank may have left the meeting already and may
// send the first events of its next superstep; they are received early, which does no harm.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/assert.h"
#include "run/engine.h"
#include "run/events/event_pool.h"
#include "run/events/plain_event.h"
#include "run/execution/trace_recorder.h"
#include "run/ranks/link.h"
#include "run/threads/team.h"
#include "run/threads/waiting.h"
#include "run/world/world.h"
#include "transport/rounds.h"

namespace orrery {

template <class Report>
class StepLink final : public ranks::Link<ranks::ArrivedEvent, Report> {
  using Base = ranks::Link<ranks::ArrivedEvent, Report>;

 public:
  StepLink(transport::RankTransport& transport, const std::vector<std::uint16_t>& owners,
           transport::Rounds<Report>& rounds, EventDepot& depot)
      : Base(transport, rounds.workers(), rounds, kChannelEvents),
        owners_(owners),
        workers_(rounds.workers()),
        pool_(depot) {
    this->open([this](unsigned from, const transport::Parcel& parcel) { take(from, parcel); });
  }
  ~StepLink() { this->close(); }

  void progress() { this->template make_progress<ranks::NoSteps>(); }

 private:
  static constexpr std::size_t kChannelEvents = 4096;
  void take(unsigned from, const transport::Parcel& parcel) {
    this->take_records(parcel,
                       [this](const EventHeader& header, ranks::NoExtra, const void* payload) {
                         const unsigned owner = owners_[header.receiver];
                         ORRERY_ASSERT(owner < workers_, "a rank gets events for its own LPs only");
                         this->push(owner, {PlainEvent::make(pool_, header, payload)});
                       });
    this->give_back(from, parcel);
  }

  const std::vector<std::uint16_t>& owners_;
  [[maybe_unused]] const unsigned workers_;
  EventPool<64> pool_;  ///< guarded by the transport's lock
};

/// `Report` consists of plain values, a multiple of 8 bytes, and has add(const Report&). It is the
/// exchange of an EventLoop.
template <class Report>
class Supersteps {
 public:
  /// `owners`: by LP the worker, or workers + r for an LP of rank r.
  Supersteps(std::vector<std::uint16_t> owners, const Team& team, RunControl& control)
      : owners_(std::move(owners)),
        team_(team),
        trace_(control.trace),
        workers_(team.workers()),
        rounds_(workers_),
        places_(workers_) {
    for (unsigned i = 0; i < workers_; ++i)
      places_[i] = std::make_unique<Place>(rounds_, i, workers_);
    if (control.ranks != nullptr)
      link_ = std::make_unique<StepLink<Report>>(*control.ranks, owners_, rounds_, depot_);
  }
  Supersteps(const Supersteps&) = delete;
  Supersteps& operator=(const Supersteps&) = delete;

  using Record = LpEntry;
  LpTable& lps(World& world) const { return world.lps(); }
  unsigned workers() const { return workers_; }
  unsigned owners() const { return workers_; }
  EventDepot& depot() { return depot_; }
  unsigned owner(LpId id) const { return owners_[id]; }

  // ---- By each worker

  void hand(unsigned from, unsigned to, PlainEvent* event) {
    places_[from]->sent[to].push_back(event);
    ++places_[from]->sends;
  }
  template <class Payload>
  void send(unsigned from, unsigned owner, const EventHeader& header, const Payload& payload) {
    link_->send(from, owner - workers_, header, {}, payload, places_[from]->member.round());
    ++places_[from]->sends;
  }
  /// Waits for all workers of all ranks. Calls receive(PlainEvent*) for each event that was sent to
  /// this worker, then `report()`, and returns the sum of all reports; nothing if a worker of this
  /// rank has failed.
  template <class Receive, class MakeReport>
  std::optional<Report> meet(unsigned worker, Receive&& receive, MakeReport&& report) {
    const TraceSpan span(lane_of(trace_, worker), TraceKind::idle);
    Meeting<Receive, MakeReport> meeting{*this, worker, receive, report};
    Backoff backoff(team_.crowded());
    while (!places_[worker]->member.step(meeting)) {
      if (team_.failed()) return std::nullopt;
      if (link_) {
        link_->progress();
        meeting.receive_from_ranks();
      }
      backoff.wait();
    }
    return sum_of_reports();
  }
  /// Meetings so far, and events that the worker has sent to others.
  std::uint64_t meetings(unsigned worker) const { return places_[worker]->member.round(); }
  std::uint64_t sends(unsigned worker) const { return places_[worker]->sends; }

  /// After the last meeting: nothing more comes from other ranks.
  void close() { link_.reset(); }

 private:
  using Rounds = transport::Rounds<Report>;

  /// What belongs to one worker.
  struct alignas(64) Place {
    Place(Rounds& rounds, unsigned worker, unsigned workers)
        : member(rounds, worker), sent(workers) {}
    transport::RoundMember<Rounds> member;
    std::vector<std::vector<PlainEvent*>> sent;  ///< by receiver
    std::uint64_t sends = 0;
  };

  /// A worker's part in a meeting (the hooks of transport/rounds.h).
  template <class Receive, class MakeReport>
  struct Meeting {
    Supersteps& steps;
    const unsigned worker;
    Receive& receive;
    MakeReport& make_report;

    bool due() { return true; }
    void join() {
      if (steps.link_) steps.link_->egress(worker).post_all(steps.places_[worker]->member.round());
    }
    bool delivered(std::uint64_t round) {
      return !steps.link_ || steps.link_->rounds().delivered(round);
    }
    Report report() {
      for (const auto& from : steps.places_) {
        for (PlainEvent* event : from->sent[worker]) receive(event);
        from->sent[worker].clear();
      }
      receive_from_ranks();
      return make_report();
    }
    bool settled(std::uint64_t round) {
      return !steps.link_ || steps.link_->rounds().settled(round);
    }
    bool adopt() { return true; }

    void receive_from_ranks() {
      if (steps.link_)
        steps.link_->drain(worker, [this](ranks::ArrivedEvent arrived) { receive(arrived.event); });
    }
  };

  Report sum_of_reports() const {
    Report sum;
    const unsigned reports = link_ ? link_->ranks() : workers_;
    for (unsigned i = 0; i < reports; ++i)
      sum.add(link_ ? link_->rounds().report_of(i) : rounds_.report_of(i));
    return sum;
  }

  const std::vector<std::uint16_t> owners_;
  const Team& team_;
  TraceRecorder* const trace_;
  const unsigned workers_;
  EventDepot depot_;
  Rounds rounds_;
  std::vector<std::unique_ptr<Place>> places_;
  std::unique_ptr<StepLink<Report>> link_;  ///< null: there are no other ranks
};

}  // namespace orrery
