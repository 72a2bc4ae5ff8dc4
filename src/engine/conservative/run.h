// SPDX-License-Identifier: Apache-2.0
//
// A run of the conservative engine: its threads, and the sequence of periods that they execute.
// Between two periods all events before a key are executed and no message is in transit. There
// worker 0 decides how the next period executes (tempo.h), and whether blocks of LPs go to other
// workers.
//
// In a period in place worker 0 has all LPs, and the others wait for the end of the period.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "engine/conservative/worker.h"
#include "run/clock.h"
#include "run/ranks/rank_end.h"
#include "run/workers/handler_thread.h"

namespace orrery::conservative {

template <class Pending>
class ConservativeRun {
 public:
  /// `tempo`: what the engine has found out so far, in this world, about executing in place.
  ConservativeRun(World& world, const RunOptions& options, const Goal& goal,
                  const Settings& settings, unsigned workers, Tempo& tempo, RunControl& control);
  ConservativeRun(const ConservativeRun&) = delete;
  ConservativeRun& operator=(const ConservativeRun&) = delete;
  ~ConservativeRun() {
    shared_.team.join();  // threads run if others could not be started
    try {
      give_lps_back();
    } catch (const std::bad_alloc&) {
      // The run has failed already, or fails now; these LPs are never called again.
    }
  }

  /// Takes the world, moves it forward, and gives it back.
  void advance(RunResult& result);

 private:
  static constexpr double kUneven = 1.1;        ///< busiest worker's load over the mean
  static constexpr double kWorthMoving = 1.05;  ///< busiest worker's load before a move over after
  static constexpr double kGain = 1.03;         ///< least ratio of rates by which a move pays
  static constexpr unsigned kMostRest = 64;     ///< periods

  // By every worker (run.h).
  void work(unsigned index);
  void live(unsigned index);
  bool change_period(unsigned index);

  // By worker 0, while the others wait (run.h).
  void decide();
  void plan_period();
  void deal_blocks();
  void start_clock();
  void move_blocks(double rate);
  void even_out(double rate);
  void shuffle();
  std::uint64_t executed() const;

  // The end (run_conclude.h).
  void conclude(RunResult& result);
  void give_lps_back();
  void let_parts_follow();
  struct Counters {
    WorkerStatistics statistics;
    std::uint64_t blocks_moved = 0;
  };
  RankEnd<Counters> own_end(std::uint64_t ahead) const;
  void add_statistics(const std::vector<RankEnd<Counters>>& ends, RunResult& result) const;

  Shared shared_;
  std::vector<std::unique_ptr<Worker<Pending>>> workers_;
  std::vector<std::string> refusals_;          ///< notes on memory, by worker
  std::vector<std::uint64_t> executed_ahead_;  ///< events behind the fault, by worker

  // Worker 0's.
  Tempo& tempo_;
  std::vector<std::uint16_t> shared_owners_;  ///< of blocks, while all execute
  Stopwatch watch_;
  std::uint64_t executed_here_ = 0;  ///< by this rank, at the last halt
  double set_up_seconds_ = 0, rate_before_move_ = 0;
  unsigned periods_to_rest_ = 1, rest_ = 1;
  std::uint64_t blocks_moved_ = 0, shuffles_ = 0;
};

template <class Pending>
ConservativeRun<Pending>::ConservativeRun(World& world, const RunOptions& options, const Goal& goal,
                                          const Settings& settings, unsigned workers, Tempo& tempo,
                                          RunControl& control)
    : shared_(world, options, goal, settings, control, workers),
      refusals_(shared_.workers),
      executed_ahead_(shared_.workers),
      tempo_(tempo),
      shared_owners_(shared_.partition.owners_of_blocks()) {
  for (unsigned i = 0; i < shared_.workers; ++i)
    workers_.push_back(std::make_unique<Worker<Pending>>(shared_, i));
  shared_.period.begin = world.cut;
  plan_period();
  deal_blocks();
}

template <class Pending>
void ConservativeRun<Pending>::advance(RunResult& result) {
  watch_.lap();
  Stopwatch watch;
  shared_.team.start(0, {[this](unsigned i) { work(i); }});
  shared_.team.finish();
  result.startup_seconds += set_up_seconds_;
  result.loop_seconds += watch.lap() - set_up_seconds_;
  conclude(result);
}

// ---- By every worker

template <class Pending>
void ConservativeRun<Pending>::work(unsigned index) {
  const HandlerThread thread(shared_.world, shared_.control, workers_[index]->execution());
  live(index);
  refusals_[index] = thread.note();
}

template <class Pending>
void ConservativeRun<Pending>::live(unsigned index) {
  Worker<Pending>& worker = *workers_[index];
  worker.take_lps();
  if (!shared_.team.end_step()) return;
  if (index == 0) shared_.world.lps().free();
  worker.take_events();
  if (!shared_.team.end_step()) return;
  worker.take_handed_out();
  worker.begin_period();
  if (index == 0) {
    set_up_seconds_ = watch_.lap();
    shared_.goal.restart();
    start_clock();
  }
  if (!shared_.team.end_step()) return;
  do {
    if (index > 0 && shared_.period.in_place) continue;
    const auto ending = worker.run_period();
    if (!ending) return;
    if (index == 0) shared_.ending = *ending;
    executed_ahead_[index] = worker.end_period(*ending);
  } while (change_period(index));
}

/// False if the run is over.
template <class Pending>
bool ConservativeRun<Pending>::change_period(unsigned index) {
  Worker<Pending>& worker = *workers_[index];
  Team& team = shared_.team;
  if (!team.end_step()) return false;
  if (shared_.ending.end) {
    worker.give_back();
    return false;
  }
  if (index == 0) decide();
  if (!team.end_step()) return false;
  if (shared_.moves) {
    worker.hand_out_events();
    if (!team.end_step()) return false;
    worker.take_handed_out();
  }
  worker.begin_period();
  if (index == 0) start_clock();
  return team.end_step();
}

// ---- By worker 0

template <class Pending>
std::uint64_t ConservativeRun<Pending>::executed() const {
  std::uint64_t sum = 0;
  for (const auto& worker : workers_) sum += worker->statistics().executed;
  return sum;
}

template <class Pending>
void ConservativeRun<Pending>::decide() {
  Shared::Period& period = shared_.period;
  const double seconds = watch_.lap();
  const std::uint64_t events = executed() - executed_here_;
  executed_here_ += events;
  tempo_.note(events, seconds);
  if (!shared_.world.executions().any_stays_on_thread())
    move_blocks(static_cast<double>(events) / seconds);
  period.begin = shared_.ending.cut;
  period.executed = shared_.rank_link ? workers_[0]->executed_by_all() : executed_here_;
  plan_period();
  deal_blocks();
}

/// Gives all blocks to worker 0 for a period in place, else to their owners.
template <class Pending>
void ConservativeRun<Pending>::deal_blocks() {
  std::vector<std::uint16_t> owners = shared_owners_;
  if (shared_.period.in_place) std::fill(owners.begin(), owners.end(), std::uint16_t{0});
  shared_.moves = owners != shared_.partition.owners_of_blocks();
  if (shared_.moves) shared_.partition.give_blocks(owners);
}

/// Decides how the next period executes. Its time begins later, in start_clock().
template <class Pending>
void ConservativeRun<Pending>::plan_period() {
  Shared::Period& period = shared_.period;
  const bool was_in_place = period.in_place;
  period.in_place = tempo_.next().in_place;
  if (shared_.settings.halt_every > 0) {
    period.in_place =
        shared_.settings.mode == Mode::automatic && !shared_.rank_link && shuffles_ % 3 == 2;
    period.end_events = period.executed + shared_.settings.halt_every;
  }
  RowSink* const rows = shared_.control.rows;
  if (rows != nullptr && (period.in_place != was_in_place || period.executed == 0))
    rows->begin(period.in_place ? 1 : shared_.workers);
}

template <class Pending>
void ConservativeRun<Pending>::start_clock() {
  const double switch_seconds = watch_.lap();
  if (shared_.moves) tempo_.note_switch(switch_seconds);
  const double cycles = tempo_.next().seconds * cycles_per_second();
  shared_.period.end_cycles = read_cycles() + static_cast<std::uint64_t>(cycles);
}

/// `rate`: events per second in the period that is over.
template <class Pending>
void ConservativeRun<Pending>::move_blocks(double rate) {
  if (shared_.settings.halt_every > 0) {
    shuffle();
  } else if (!shared_.period.in_place) {
    even_out(rate);
  }
}

/// Moves blocks from workers with much load to workers with little. After a move that did not raise
/// the rate by kGain, it rests for twice as many periods.
template <class Pending>
void ConservativeRun<Pending>::even_out(double rate) {
  if (rate_before_move_ > 0) {
    rest_ = rate < kGain * rate_before_move_ ? std::min(2 * rest_, kMostRest) : 1;
    periods_to_rest_ = rest_;
    rate_before_move_ = 0;
  }
  if (--periods_to_rest_ > 0) return;
  periods_to_rest_ = 1;
  const Partition& partition = shared_.partition;
  std::vector<double> loads(partition.blocks());
  for (const auto& worker : workers_)
    for (unsigned block = 0; block < partition.blocks(); ++block)
      loads[block] += worker->loads()[block];
  const auto most_load = [&](const std::vector<std::uint16_t>& owners) {
    std::vector<double> sums(shared_.workers);
    for (unsigned block = 0; block < partition.own_blocks(); ++block)
      sums[owners[block]] += loads[block];
    return *std::max_element(sums.begin(), sums.end());
  };
  const double total = std::accumulate(loads.begin(), loads.end(), 0.0);
  const double most = most_load(shared_owners_);
  if (most * shared_.workers < kUneven * total) return;
  std::vector<std::uint16_t> owners = partition.even_out(loads);
  if (most < kWorthMoving * most_load(owners)) return;
  for (unsigned block = 0; block < partition.blocks(); ++block)
    blocks_moved_ += owners[block] != shared_owners_[block] ? 1 : 0;
  shared_owners_ = std::move(owners);
  rate_before_move_ = rate;
}

/// For tests: reassigns every block.
template <class Pending>
void ConservativeRun<Pending>::shuffle() {
  ++shuffles_;
  for (unsigned block = 0; block < shared_.partition.own_blocks(); ++block)
    shared_owners_[block] =
        static_cast<std::uint16_t>((block * (shuffles_ % 5 + 1) + shuffles_) % shared_.workers);
  blocks_moved_ += shared_.partition.own_blocks();
}

}  // namespace orrery::conservative

#include "engine/conservative/run_conclude.h"
