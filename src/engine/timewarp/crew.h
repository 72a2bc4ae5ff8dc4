// SPDX-License-Identifier: Apache-2.0
//
// A thread and the workers that it runs, in turns. There are no more threads than cores: workers
// beyond that share threads instead of competing for cores. The system knows nothing of virtual
// time: it would let one worker run ahead for a time slice while the one that holds GVT waits for a
// core, and each look of a GVT round would cost a switch of threads instead of a function call
// (with 16 workers on two cores a round took 165 us in threads of their own, 20 us in turns).
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "engine/timewarp/worker.h"
#include "memory/library_state.h"
#include "run/activity.h"
#include "run/refusals.h"
#include "run/waiting.h"

namespace orrery::timewarp {

template <class Pending>
class Crew {
 public:
  using WorkerList = std::vector<Worker<Pending>*>;

  Crew(Shared& shared, unsigned thread, WorkerList workers)
      : shared_(shared),
        thread_(thread),
        workers_(std::move(workers)),
        member_(shared.rounds, thread),
        backoff_(shared.team.crowded()) {}
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  /// The thread's life: sets its workers' LPs up, runs until the run ends.
  void run();

  double set_up_seconds() const { return set_up_seconds_; }
  /// Of memory that its LPs were refused, if any was.
  const std::string& refusal_note() const { return refusal_note_; }

 private:
  static constexpr unsigned kRoundLooks = 64;
  /// Whoever asks what the thread does learns whose handlers it calls.
  template <class Action>
  void for_each(Action&& action) {
    for (Worker<Pending>* worker : workers_) {
      ThreadWatch::turn_to(worker->execution());
      action(*worker);
    }
  }
  bool set_up();
  void take_turns();
  bool move_lps();
  struct RoundHooks;

  Shared& shared_;
  const unsigned thread_;
  const WorkerList workers_;
  transport::RoundMember<GvtRounds> member_;
  unsigned looks_ = 0;  ///< at a round under way, since the last turns
  bool idle_ = false;   ///< nobody had anything to do in the last turns
  Backoff backoff_;
  double set_up_seconds_ = 0;
  std::string refusal_note_;
};

template <class Pending>
void Crew<Pending>::run() {
  memory::prepare_worker_thread();
  const MisuseWatch watch;
  const Refusals refusals;
  const OversizeLimit limit(shared_.settings.deny_oversize);
  const ThreadWatch watched(shared_.control.threads, shared_.model, workers_.front()->execution(),
                            workers_.front()->speculative());
  if (!set_up()) return;
  for (Worker<Pending>* worker : workers_) worker->begin();
  workers_.front()->speculative() ? take_turns() : workers_.front()->run_alone();
  if (shared_.team.failed()) return;
  refusal_note_ = refusals.note(shared_.settings.deny_oversize);
  for_each([](Worker<Pending>& worker) { worker.end_run(); });
}

/// False if it has failed on some worker.
template <class Pending>
bool Crew<Pending>::set_up() {
  const std::uint64_t start = read_cycles();
  for_each([](Worker<Pending>& worker) { worker.take_lps(); });
  if (!shared_.team.end_step()) return false;
  for_each([](Worker<Pending>& worker) { worker.accept_lps(); });
  if (!shared_.team.end_step()) return false;
  for_each([](Worker<Pending>& worker) { worker.take_events(); });
  if (workers_.front()->index() == 0) shared_.goal.restart();
  if (!shared_.team.end_step()) return false;
  set_up_seconds_ = static_cast<double>(read_cycles() - start) / cycles_per_second();
  return true;
}

/// The members of GVT rounds are the threads: each does all its workers' parts at once.
template <class Pending>
struct Crew<Pending>::RoundHooks {
  Crew& crew;

  bool due() {
    return std::any_of(crew.workers_.begin(), crew.workers_.end(),
                       [this](auto* worker) { return worker->round_is_due(crew.idle_); });
  }
  void join() {
    for (Worker<Pending>* worker : crew.workers_) worker->join_round();
  }
  GvtReport report() {
    GvtReport sum;
    crew.for_each([&sum](Worker<Pending>& worker) { sum.add(worker.report()); });
    sum.most_load = sum.load;
    return sum;
  }
  bool adopt() {
    GvtReport sum;
    for (unsigned i = 0; i < crew.shared_.rounds.workers(); ++i)
      sum.add(crew.shared_.rounds.report_of(i));
    bool ends = false;
    crew.for_each([&](Worker<Pending>& worker) { ends = worker.adopt(sum); });
    return crew.workers_.front()->is_moving() ? !crew.move_lps() : ends;
  }
};

/// The steps in moving.h. False if a thread has failed.
template <class Pending>
bool Crew<Pending>::move_lps() {
  for_each([](Worker<Pending>& worker) { worker.note_load(); });
  if (!shared_.team.end_step()) return false;
  Moving& moving = shared_.moving;
  if (thread_ == 0) {
    moving.decide(shared_.model, shared_.owners, workers_.front()->balance().plan());
    for (const Moving::Lp& lp : moving.lps()) shared_.give_to(lp.id, lp.to);
  }
  if (!shared_.team.end_step()) return false;
  const bool moved = !moving.lps().empty();
  if (moved) {
    for_each([](Worker<Pending>& worker) { worker.hand_out_lps(); });
    if (!shared_.team.end_step()) return false;
    for_each([](Worker<Pending>& worker) { worker.take_moved_lps(); });
  }
  for_each([moved](Worker<Pending>& worker) { worker.end_move(moved); });
  return true;
}

template <class Pending>
void Crew<Pending>::take_turns() {
  while (!shared_.team.failed()) {
    if (member_.step(RoundHooks{*this})) return;
    if (idle_ && member_.in_round() && looks_++ < kRoundLooks) {
      Patience::relax();  // the other threads' step is cheaper to see than a turn of all workers
      continue;
    }
    looks_ = 0;
    bool received = false;
    idle_ = true;
    for_each([&](Worker<Pending>& worker) {
      const auto turn = worker.turn();
      received |= turn.received;
      idle_ &= !turn.executed;
    });
    if (!idle_) {
      backoff_.reset();
    } else if (!received) {
      backoff_.wait();
    }
  }
}

}  // namespace orrery::timewarp
