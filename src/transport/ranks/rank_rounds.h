// SPDX-License-Identifier: Apache-2.0
//
// Joins the rounds of one rank's workers (rounds.h) with those of the other ranks. No worker stops
// for it, as in Tocci, Pellegrini, Quaglia, Casanovas-Garcia and Suzumura: ORCHESTRA: an
// asynchronous wait-free distributed GVT algorithm (DS-RT 2017). All arithmetic is on integers, so
// the order of adding does not matter.
//
// A round n takes two collectives. When all workers of a rank have joined, the parcels that they
// sent to other ranks before are counted and on their way. The first collective adds up the counts,
// so that each rank learns how many parcels were sent to it before all had joined. The rank waits
// until these have arrived and its workers can find them (`delivered`); only then do its workers
// report. The second collective collects the reports of all ranks (`settled`). So the argument in
// rounds.h holds for all workers of all ranks: a message sent before joining is in the receiver's
// report, a later one in the sender's.
//
// A parcel carries the number of rounds that its sender had joined, of which one bit suffices.
// While a rank collects parcels sent before round n, parcels sent after a worker joined n may
// arrive, but none sent after a worker joined n + 1, since no worker joins n + 1 before all have
// reported n.
//
// With few ranks, which send their counts to each other, the counts also announce the round. With
// more ranks, and when a worker joins late, a rank that begins a round sends a notice to its
// neighbours in the tree, and these to theirs.
//
// Memory orders. The thread that makes progress stores `delivered` and `settled` with release, and
// workers load them with acquire: with the first they see the delivered parcels, with the second
// the reports. These are written when all workers of the rank have reported the round, hence have
// read the previous result.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <type_traits>
#include <utility>
#include <vector>

#include "transport/ranks/rank_transport.h"
#include "transport/rounds.h"

namespace orrery::transport {

/// Parcels that one worker has sent to other ranks, by rank and by the parity of the rounds that it
/// had joined. The worker writes the counts. Counts of rounds before the one that it joined last no
/// longer change; a thread that has seen it join reads them.
class SentCounts {
 public:
  explicit SentCounts(unsigned ranks) : counts_(2 * std::size_t{ranks}) {}
  void note(unsigned to, std::uint64_t round) { ++counts_[2 * std::size_t{to} + (round & 1)]; }
  std::uint64_t before(unsigned to, std::uint64_t round) const {
    return counts_[2 * std::size_t{to} + ((round - 1) & 1)];
  }

 private:
  std::vector<std::uint64_t> counts_;
};

/// `Report` consists of plain words and has add(const Report&).
template <class Report>
class RankRounds {
  static_assert(std::is_trivially_copyable_v<Report> && sizeof(Report) % 8 == 0);

 public:
  /// `sent`: the counts of each worker. All arguments must outlive this object.
  RankRounds(RankTransport& transport, Rounds<Report>& local, std::vector<SentCounts*> sent)
      : transport_(transport),
        local_(local),
        sent_(std::move(sent)),
        reports_(transport.ranks()),
        counts_(transport, 1 + transport.ranks(), add_counts),
        sums_(transport, 1 + transport.ranks() * kWords, join_reports) {
    const std::lock_guard lock(transport_.mutex());
    transport_.receive_with(Lane::notices,
                            [this](unsigned, Parcel parcel) { hear(parcel.head().word); });
  }
  RankRounds(const RankRounds&) = delete;
  RankRounds& operator=(const RankRounds&) = delete;
  ~RankRounds() {
    const std::lock_guard lock(transport_.mutex());
    transport_.receive_with(Lane::notices, {});
  }

  // ---- By workers
  /// Whether the workers can find all that was sent to this rank before round `round`.
  bool delivered(std::uint64_t round) const {
    return delivered_.load(std::memory_order_acquire) >= round;
  }
  bool settled(std::uint64_t round) const {
    return settled_.load(std::memory_order_acquire) >= round;
  }
  /// The sum of the reports of a rank's workers, of the round that has settled.
  const Report& report_of(unsigned rank) const { return reports_[rank]; }

  // ---- By the thread that holds the transport's lock
  /// Grows whenever workers may go on with a round.
  std::uint64_t stage() const {
    return delivered_.load(std::memory_order_relaxed) + settled_.load(std::memory_order_relaxed);
  }
  /// Notes a parcel whose sender had joined `round` rounds.
  void note_received(std::uint64_t round) { ++received_[round & 1]; }
  /// `is_in_place`: whether the workers can find all parcels that have come.
  void step(bool is_in_place);

 private:
  static constexpr std::size_t kWords = sizeof(Report) / 8;
  enum class Phase : std::uint8_t { joining, counting, waiting, reporting, settling };
  using Word = Reduction::Word;

  /// Each rank fills its own place. So all ranks learn the reports of all, and add them up as
  /// needed.
  static void join_reports(Word* sum, const Word* one);
  static void add_counts(Word* sum, const Word* one);
  void hear(std::uint32_t round);
  void tell();
  void contribute_counts();
  void contribute_reports();
  void enter(Phase phase) {
    phase_ = phase;
    scanned_ = 0;
  }

  RankTransport& transport_;
  Rounds<Report>& local_;
  const std::vector<SentCounts*> sent_;
  std::vector<Report> reports_;
  Reduction counts_, sums_;
  std::atomic<std::uint64_t> delivered_{0}, settled_{0};

  // Guarded by the transport's lock.
  Phase phase_ = Phase::joining;
  std::uint64_t round_ = 1;  ///< the current round, or the next
  std::uint64_t told_ = 0;
  unsigned scanned_ = 0;
  std::uint64_t received_[2] = {0, 0};
  std::uint64_t expected_ = 0;
};

template <class Report>
void RankRounds<Report>::add_counts(Word* sum, const Word* one) {
  // The number of words is the first word, since a static function has no object.
  for (Word i = 1; i <= one[0]; ++i) sum[i] += one[i];
}

template <class Report>
void RankRounds<Report>::join_reports(Word* sum, const Word* one) {
  for (Word i = 1; i <= one[0]; ++i) sum[i] |= one[i];
}

/// Starts the round if it is the one after the last known here; others are known already.
template <class Report>
void RankRounds<Report>::hear(std::uint32_t round) {
  const std::uint64_t last = local_.round();
  if (static_cast<std::uint32_t>(last + 1) == round) local_.start(last);
}

template <class Report>
void RankRounds<Report>::tell() {
  const std::uint64_t round = local_.round();
  if (round == told_) return;
  told_ = round;
  transport_.for_each_neighbour([&](unsigned other) {
    Parcel parcel;
    parcel.head().word = static_cast<std::uint32_t>(round);
    transport_.send(other, Lane::notices, std::move(parcel));
  });
}

template <class Report>
void RankRounds<Report>::contribute_counts() {
  std::vector<Word> words(transport_.ranks() + 1);
  words[0] = transport_.ranks();
  for (unsigned to = 0; to < transport_.ranks(); ++to)
    for (const SentCounts* worker : sent_) words[1 + to] += worker->before(to, round_);
  counts_.contribute(words);
}

template <class Report>
void RankRounds<Report>::contribute_reports() {
  Report sum;
  for (unsigned worker = 0; worker < local_.workers(); ++worker) sum.add(local_.report_of(worker));
  std::vector<Word> words(1 + reports_.size() * kWords);
  words[0] = words.size() - 1;
  std::memcpy(&words[1 + transport_.rank() * kWords], &sum, sizeof sum);
  sums_.contribute(words);
}

template <class Report>
void RankRounds<Report>::step(bool is_in_place) {
  for (;;) {
    switch (phase_) {
      case Phase::joining:
        if (local_.round() < round_ && counts_.is_begun()) local_.start(round_ - 1);
        if (local_.round() < round_) return;
        if (!local_.all_joined(round_, scanned_)) return tell();
        if (!counts_.tells_all()) tell();
        contribute_counts();
        enter(Phase::counting);
        break;
      case Phase::counting:
        if (!counts_.is_done()) return;
        expected_ = counts_.result()[1 + transport_.rank()];
        enter(Phase::waiting);
        break;
      case Phase::waiting:
        if (received_[(round_ - 1) & 1] != expected_ || !is_in_place) return;
        delivered_.store(round_, std::memory_order_release);
        enter(Phase::reporting);
        break;
      case Phase::reporting:
        if (!local_.all_reported(round_, scanned_)) return;
        contribute_reports();
        enter(Phase::settling);
        break;
      case Phase::settling:
        if (!sums_.is_done()) return;
        std::memcpy(static_cast<void*>(reports_.data()), &sums_.result()[1],
                    reports_.size() * sizeof(Report));
        settled_.store(round_++, std::memory_order_release);
        enter(Phase::joining);
        break;
    }
  }
}

}  // namespace orrery::transport
