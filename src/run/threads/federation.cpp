// SPDX-License-Identifier: Apache-2.0
#include "run/threads/federation.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "memory/platform_local.h"
#include "run/threads/team.h"
#include "transport/ranks/rank_transport.h"

namespace orrery {
namespace {

/// Thread-local, since code in which federates wait may know nothing of federations.
constinit thread_local llf* federate_of_thread = nullptr;
const memory::PlatformLocal federate_is_of_the_platform([] { return &federate_of_thread; });

constexpr unsigned kMostFederates = 1024;  // limit of orrery/llf.h; others run without tokens

/// Unique, since a process may have several runs, one after another or in parallel.
std::string group_of_process() {
  static std::atomic<unsigned> runs{0};  // used only as a number, so relaxed
  return fmt::format("orrery.{}.{}", getpid(), runs.fetch_add(1, std::memory_order_relaxed));
}

std::string name_of(unsigned rank, unsigned thread) {
  return fmt::format("rank{}.thread{}", rank, thread);
}

}  // namespace

Federation::Federation(const Team& team, transport::RankTransport* ranks, bool is_long)
    : team_(team), transport_(ranks) {
  // Called also where this rank needs no name, since names are numbered.
  std::string group = ranks == nullptr ? group_of_process() : ranks->next_group();
  if (!team.crowded() || !is_long) return;
  group_ = std::move(group);
  if (ranks == nullptr) {
    members_ = team.workers();
    ranks_here_ = {0};
    return;
  }
  rank_ = ranks->rank();
  ranks_ = ranks->ranks();
  for (unsigned rank = 0; rank < ranks_; ++rank)
    if (ranks->host(rank) == ranks->host(rank_)) ranks_here_.push_back(rank);
  members_ = static_cast<unsigned>(ranks_here_.size()) * team.workers();
}

Federate::Federate(const Federation& federation, unsigned thread) {
  if (!federation.is_on() || !join(federation, thread)) return;
  find_peers(federation, thread);
  federate_of_thread = self_;
}

Federate::~Federate() {
  if (self_ == nullptr) return;
  federate_of_thread = nullptr;
  llf_leave(self_);
}

/// If a thread cannot join, the others continue without it after a while.
bool Federate::join(const Federation& federation, unsigned thread) {
  llf_options options{};
  options.size = sizeof options;
  options.slots = std::min(federation.members(), kMostFederates);
  options.hold_ns = kHoldNs;
  self_ =
      llf_join(federation.group().c_str(), name_of(federation.rank(), thread).c_str(), &options);
  if (self_ == nullptr) {
    refusal_ = fmt::format(
        "threads that are more than the cores run as the system likes, not least virtual time "
        "first: {}",
        llf_error());
    return false;
  }
  // While waiting, makes progress: other ranks may wait for messages that this rank has sent.
  constexpr int kTries = 5000;
  constexpr std::int64_t kTryNs = 1'000'000;
  for (int i = 0; i < kTries && !federation.team().failed(); ++i) {
    if (llf_meet(self_, std::min(federation.members(), kMostFederates), kTryNs) == 0) break;
    if (federation.transport() != nullptr) federation.transport()->try_progress();
  }
  // Whatever happens to the run, nothing of the group stays in the system.
  llf_seal(self_);
  return true;
}

void Federate::find_peers(const Federation& federation, unsigned thread) {
  threads_.resize(federation.team().workers());
  for (unsigned other = 0; other < threads_.size(); ++other)
    if (other != thread)
      threads_[other].number = llf_find(self_, name_of(federation.rank(), other).c_str());
  rank_peers_.resize(federation.ranks());
  for (const unsigned rank : federation.ranks_here())
    if (rank != federation.rank())
      rank_peers_[rank].number = llf_find(self_, name_of(rank, 0).c_str());
}

llf_time Federate::federate_time(Time time) {
  return std::clamp<llf_time>(time.ticks(), LLF_EARLIEST + 1, LLF_NEVER - 1);
}

void Federate::wait(Time lvt, std::int64_t most_ns) {
  llf_lvt(self_, federate_time(lvt));
  llf_wait(self_, most_ns);
}

void Federate::note_sent(unsigned rank, bool urgent) {
  Peer& peer = rank_peers_[rank];
  const Time lowest = std::exchange(peer.unsent, Time::max());
  // Without a noted send the time of what another thread has sent is unknown, so the earliest is
  // used.
  note(peer, urgent || lowest == Time::max() ? Time::from_ticks(LLF_EARLIEST) : lowest);
}

void Federate::announce() {
  for (Peer* const peer : noted_) {
    if (peer->number != LLF_ERROR) llf_message_to(self_, peer->number, federate_time(peer->noted));
    peer->noted = Time::max();
  }
  noted_.clear();
}

void Federate::call_all() {
  call(threads_);
  call(rank_peers_);
}

void Federate::call(const std::vector<Peer>& peers) {
  for (const Peer& peer : peers)
    if (peer.number != LLF_ERROR) llf_message_to(self_, peer.number, LLF_EARLIEST);
}

TokenAside::TokenAside() : self_(federate_of_thread) {
  if (self_ != nullptr) llf_pause(self_);
}
TokenAside::~TokenAside() {
  if (self_ != nullptr) llf_resume(self_);
}

}  // namespace orrery
