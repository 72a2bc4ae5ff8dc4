// SPDX-License-Identifier: Apache-2.0
#include "llf/mpi/process.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "llf/mpi/environment.h"

namespace orrery::llf::mpi {

namespace {

/// Longest time for which a federate waits for a token whose owner comes to no safe point.
constexpr std::int64_t kPatienceNs = 10'000'000;
constexpr std::int64_t kLongestNapNs = 1'000'000;

std::int64_t by_clock(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

int number_in(const char* const* names) {
  for (; *names != nullptr; ++names)
    if (const char* text = getenv(*names); text != nullptr && *text != '\0') return atoi(text);
  return -1;
}

/// A name for the world, to distinguish it from others on this machine, if the launcher has set
/// one.
void name_world(char* name, std::size_t room) {
  const char* text = getenv("PMIX_NAMESPACE");
  if (text == nullptr) return;
  std::uint32_t hash = 2166136261u;  // FNV-1a
  for (; *text != '\0'; ++text) hash = (hash ^ static_cast<unsigned char>(*text)) * 16777619u;
  snprintf(name, room, ".%08x", hash);
}

constexpr const char* kRankNames[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", nullptr};
constexpr const char* kRanksNames[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", nullptr};

}  // namespace

Process& process() {
  static constinit Process only;
  return only;
}

std::int64_t Process::now() {
  return by_clock(CLOCK_MONOTONIC);
}
std::int64_t Process::coarse_now() {
  return by_clock(CLOCK_MONOTONIC_COARSE);
}
Time Process::latest_overdue() {
  return lvt_stamp(coarse_now() - kPatienceNs, false);
}

bool Process::is_at_home() const {
  return federate_->forks == forks_so_far();
}
bool Process::is_mine() const {
  return takes_part() && pthread_equal(federate_->thread, pthread_self()) != 0;
}

void Process::name_of(int world_rank, char* name, std::size_t room) const {
  snprintf(name, room, "rank-%d%s", world_rank, world_);
}

void Process::join() {
  const char* group = getenv(kGroup);
  if (group == nullptr || federate_ != nullptr) return;
  if (const char* mark = getenv(kUnusedMark)) unlink(mark);
  name_world(world_, sizeof world_);
  rank_ = number_in(kRankNames);
  const int ranks = number_in(kRanksNames);
  char name[48];
  if (rank_ >= 0)
    name_of(rank_, name, sizeof name);
  else
    snprintf(name, sizeof name, "process-%d", static_cast<int>(getpid()));
  llf_options options = {.size = sizeof options, .tokens = 0, .slots = 0, .hold_ns = 0};
  if (const char* tokens = getenv(kTokens)) options.tokens = static_cast<unsigned>(atoi(tokens));
  // More slots, since the ranks may spawn processes.
  if (ranks > 32) options.slots = ranks > 512 ? 1024 : 2 * static_cast<unsigned>(ranks);
  federate_ = enter_group(group, name, &options);
  if (federate_ == nullptr && rank_ >= 0) {
    // A rank of another world that the launcher did not name; other ranks cannot find it as a peer.
    snprintf(name, sizeof name, "rank-%d.of.%d", rank_, static_cast<int>(getpid()));
    rank_ = -1;
    federate_ = enter_group(group, name, &options);
  }
  if (federate_ == nullptr) {
    fprintf(stderr, "orrery: %s; this process runs without a turn\n", llf_error());
    return;
  }
  federate()->set_overdue_limit({kPatienceNs, latest_overdue});
  see(coarse_now());
  federate()->pause();
}

void Process::begin(int rank, int ranks, bool is_spawned) {
  if (federate_ == nullptr) return;
  // Spawned processes inherit their parents' environment, but have ranks of their own.
  const bool is_known = rank == rank_ && !is_spawned;
  rank_ = rank;
  auto* peers = static_cast<std::atomic<int>*>(
      calloc(static_cast<std::size_t>(ranks), sizeof(std::atomic<int>)));
  if (is_known && peers != nullptr) {
    ranks_ = ranks;
    peers_ = peers;
  } else {
    free(peers);
  }
  all_are_here_ = ranks_ > 0 || ranks == 1;
  for (int i = 0; i < ranks_; ++i) all_are_here_ &= peer_of(i) >= 0;
  resume();
}

void Process::pause() {
  if (is_mine()) federate()->pause();
}
void Process::resume() {
  if (!is_mine()) return;
  see(coarse_now());
  federate()->resume();
  see(now());
}

void Process::leave() {
  if (!is_mine()) return;
  ::llf* leaving = federate_;
  federate_ = nullptr;
  llf_leave(leaving);
}

// --- the others
// -----------------------------------------------------------------------------------

int Process::find(const char* name) {
  Schedule<Linux> schedule = federate_->segment.schedule();
  int found = -1;
  schedule.decide([&] {
    for (unsigned i = 0; i < schedule.count(); ++i)
      if (state_of(schedule.word(i)) != State::free &&
          strcmp(federate_->segment.lives()[i].name, name) == 0)
        found = static_cast<int>(federate()->generation_of(i) << kSlotBits | i);
  });
  return found;
}

/// The number of a rank as a peer, or -1. A rank that is not in the group at the first search,
/// after MPI_Init, will not join later.
int Process::peer_of(int world_rank) {
  if (world_rank < 0 || world_rank >= ranks_) return -1;
  const int known = peers_[world_rank].load(std::memory_order_relaxed);
  if (known != 0) return known - 1;
  char name[48];
  name_of(world_rank, name, sizeof name);
  const int peer = find(name);
  peers_[world_rank].store(peer < 0 ? -1 : peer + 1, std::memory_order_relaxed);
  return peer;
}

void Process::tell(int world_rank, unsigned hops) {
  if (world_rank == rank_) return;
  const int peer = peer_of(world_rank);
  if (peer < 0) return;
  const auto number = static_cast<std::uint32_t>(peer);
  if (!federate()->message_to(number & (kMostSlots - 1), number >> kSlotBits,
                              message_stamp(coarse_now(), hops)))
    peers_[world_rank].store(-1, std::memory_order_relaxed);  // it has left or died
}

/// Returns whether conclude() has to be called.
bool Process::announce_if_watchful(unsigned slot, Time time) {
  if (slot == federate_->slot) return false;
  Schedule<Linux> schedule = federate_->segment.schedule();
  if (!is_watchful(schedule.slot(slot).lvt.load(std::memory_order_relaxed))) return false;
  return federate()->announce(slot, time) == Federate<Linux>::Announced::to_be_decided;
}

void Process::tell_watchful(const Ranks& ranks, unsigned hops) {
  // Orders this rank's earlier calls of MPI before the loads of LVTs; pairs with begin_wait(),
  // where others set their LVT before they test.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  const Time time = message_stamp(coarse_now(), hops);
  bool to_be_decided = false;
  for (int i = 0; i < ranks.count; ++i) {
    const int peer = peer_of(ranks.world[i]);
    if (peer >= 0)
      to_be_decided |= announce_if_watchful(static_cast<unsigned>(peer) & (kMostSlots - 1), time);
  }
  if (to_be_decided) federate()->conclude();
}

void Process::tell_all_watchful(unsigned hops) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  const Time time = message_stamp(coarse_now(), hops);
  bool to_be_decided = false;
  const unsigned count = federate_->segment.header().slots;
  for (unsigned slot = 0; slot < count; ++slot) to_be_decided |= announce_if_watchful(slot, time);
  if (to_be_decided) federate()->conclude();
}

// --- waiting
// --------------------------------------------------------------------------------------

void Process::begin_wait(bool watchful) {
  wait_begun_ns_ = now();
  looks_ = 0;
  federate()->set_lvt(lvt_stamp(wait_begun_ns_, watchful));
  std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs with the fences of tell_watchful()
                                                        // and tell_all_watchful()
}

void Process::end_wait() {
  see(now());
}

/// Tests some more times if no other federate wants the core, since sleeping and waking take
/// longer.
bool Process::looks_on() {
  return ++looks_ <= (federate()->is_anybody_ready() ? 1 : kLooks);
}

void Process::sleep() {
  const std::int64_t waited = now() - wait_begun_ns_;
  const std::int64_t bound = std::clamp(waited, kShortestNs, kLongestNs);
  if ((federate()->wait(bound) & kMessage) != 0) looks_ = 0;
}

void Process::sleep_in_a_loop() {
  const std::int64_t bound = std::clamp(fruitless_ns_, kShortestNs, 4 * kShortestNs);
  if ((federate()->wait(bound) & kMessage) != 0) {
    idling_.woken();
    fruitless_ns_ = 0;
  } else {
    fruitless_ns_ += bound;
  }
}

/// A rest of threads that are no federates. Returns the length of the next rest.
std::int64_t Process::rest(std::int64_t nap_ns) {
  if (nap_ns == 0) {
    sched_yield();
    return 20'000;
  }
  const timespec nap{0, nap_ns};
  nanosleep(&nap, nullptr);
  return std::min(2 * nap_ns, kLongestNapNs);
}

}  // namespace orrery::llf::mpi
