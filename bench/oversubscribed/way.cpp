// SPDX-License-Identifier: Apache-2.0
#include "way.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <string>
#include <vector>

#include "orrery/llf.h"

namespace oversubscribed {
namespace {

void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t is, std::int64_t most_ns) {
  const timespec most{most_ns / 1'000'000'000, most_ns % 1'000'000'000};
  syscall(SYS_futex, &word, FUTEX_WAIT, is, most_ns == Way::kForEver ? nullptr : &most, nullptr, 0);
}
void futex_wake_all(std::atomic<std::uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

/// Ways that need no more than the memory that the ranks share.
class OwnWay : public Way {
 public:
  OwnWay(const Shared& shared, unsigned rank)
      : shared_(shared), rounds_(shared.rounds()), rank_(rank) {
    shared.started().fetch_add(1, std::memory_order_relaxed);
    while (shared.started().load(std::memory_order_relaxed) < shared.setting().ranks) sched_yield();
  }

  void before_looking() override {}
  void announce(unsigned, Ticks) override {}
  void safe_point(Ticks) override {}
  bool round_wanted() const override {
    return rounds_.wanted.load(std::memory_order_relaxed) != joined_;
  }
  Agreed agree(Ticks lowest, std::int64_t sent_minus_received) override {
    shared_.board(rank_).lowest = lowest;
    shared_.board(rank_).sent_minus_received = sent_minus_received;
    if (rounds_.wanted.exchange(joined_ + 1, std::memory_order_relaxed) == joined_) begun();
    if (rounds_.arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == shared_.setting().ranks)
      complete();
    else
      wait_for_round(joined_);
    ++joined_;
    return {rounds_.gvt, rounds_.in_transit};  // until all have joined the next
  }

 protected:
  /// We have begun a round, which others may sleep through.
  virtual void begun() {}
  /// Until `completed` is not `before` any more.
  virtual void wait_for_round(std::uint32_t before) = 0;
  virtual void completed() {}

  const Shared& shared_;
  Rounds& rounds_;
  const unsigned rank_;

 private:
  void complete() {
    rounds_.gvt = kNever;
    rounds_.in_transit = 0;
    for (unsigned i = 0; i < shared_.setting().ranks; ++i) {
      rounds_.gvt = std::min(rounds_.gvt, shared_.board(i).lowest);
      rounds_.in_transit += shared_.board(i).sent_minus_received;
    }
    rounds_.arrived.store(0, std::memory_order_relaxed);
    rounds_.completed.store(joined_ + 1, std::memory_order_release);
    completed();
  }
  std::uint32_t joined_ = 0;
};

/// Looks again and again.
class Polling : public OwnWay {
 public:
  Polling(const Shared& shared, unsigned rank, bool yields)
      : OwnWay(shared, rank), yields_(yields) {}
  void rest(std::int64_t) override {
    if (yields_) sched_yield();
  }

 private:
  void wait_for_round(std::uint32_t before) override {
    while (rounds_.completed.load(std::memory_order_acquire) == before) rest(kForEver);
  }
  const bool yields_;
};

/// Sleeps. Who rings a bell moves it on first and then looks whether its rank sleeps; who goes to
/// sleep says so first and then looks at the bell. So one of the two sees the other.
class Blocking : public OwnWay {
 public:
  using OwnWay::OwnWay;

  void before_looking() override {
    heard_ = shared_.board(rank_).bell.load(std::memory_order_seq_cst);
  }
  void announce(unsigned peer, Ticks) override { ring(peer); }
  void rest(std::int64_t most_ns) override {
    if (round_wanted()) return;
    Board& mine = shared_.board(rank_);
    mine.asleep.store(1, std::memory_order_seq_cst);
    if (mine.bell.load(std::memory_order_seq_cst) == heard_) futex_wait(mine.bell, heard_, most_ns);
    mine.asleep.store(0, std::memory_order_relaxed);
  }

 private:
  void ring(unsigned peer) {
    Board& board = shared_.board(peer);
    board.bell.fetch_add(1, std::memory_order_seq_cst);
    if (board.asleep.load(std::memory_order_seq_cst) != 0) futex_wake_all(board.bell);
  }
  void begun() override {
    for (unsigned i = 0; i < shared_.setting().ranks; ++i)
      if (i != rank_) ring(i);
  }
  void wait_for_round(std::uint32_t before) override {
    while (rounds_.completed.load(std::memory_order_acquire) == before)
      futex_wait(rounds_.completed, before, kForEver);
  }
  void completed() override { futex_wake_all(rounds_.completed); }

  std::uint32_t heard_ = 0;
};

std::string group_of(int parent) {
  return "oversubscribed." + std::to_string(parent);
}

class LeastLvtFirst : public Way {
 public:
  LeastLvtFirst(unsigned ranks, unsigned rank) {
    const llf_options options{
        .size = sizeof(llf_options), .tokens = 0, .slots = ranks, .hold_ns = 0};
    federate_ = llf_join(group_of(getppid()).c_str(), std::to_string(rank).c_str(), &options);
    if (federate_ == nullptr || llf_meet(federate_, ranks, -1) != 0) fail();
    for (unsigned i = 0; i < ranks; ++i)
      peers_.push_back(i == rank ? -1 : checked(llf_find(federate_, std::to_string(i).c_str())));
  }
  ~LeastLvtFirst() override { llf_leave(federate_); }

  void before_looking() override { checked(llf_messages_read(federate_)); }
  void announce(unsigned peer, Ticks time) override {
    // One that has left, since it is done, needs none.
    llf_message_to(federate_, peers_[peer], time);
  }
  void safe_point(Ticks lvt) override {
    checked(llf_lvt(federate_, lvt));
    notice(llf_safe_point(federate_));
  }
  void rest(std::int64_t most_ns) override { notice(llf_wait(federate_, most_ns)); }
  bool round_wanted() const override { return round_wanted_; }
  Agreed agree(Ticks lowest, std::int64_t sent_minus_received) override {
    Agreed agreed;
    round_wanted_ = false;
    notice(llf_gvt(federate_, lowest, sent_minus_received, &agreed.gvt, &agreed.in_transit));
    return agreed;
  }

 private:
  void notice(int what) {
    if ((checked(what) & LLF_DEATH) != 0) fail();
    if ((what & LLF_GVT) != 0) round_wanted_ = true;
  }
  static int checked(int result) {
    if (result < 0) fail();
    return result;
  }
  [[noreturn]] static void fail() { throw std::runtime_error(llf_error()); }

  llf* federate_ = nullptr;
  std::vector<int> peers_;
  bool round_wanted_ = false;
};

}  // namespace

std::unique_ptr<Way> Way::make(const Shared& shared, unsigned rank) {
  const Setting& setting = shared.setting();
  if (setting.way == "llf") return std::make_unique<LeastLvtFirst>(setting.ranks, rank);
  if (setting.way == "block") return std::make_unique<Blocking>(shared, rank);
  return std::make_unique<Polling>(shared, rank, setting.way == "yield");
}

void Way::clean(int parent) {
  llf_clean(group_of(parent).c_str());
}

}  // namespace oversubscribed
