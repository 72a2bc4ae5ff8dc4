// SPDX-License-Identifier: Apache-2.0
//
// The engine that chooses engines. It executes nothing itself: it gives the run's world (world.h)
// to one engine after the other, measures how fast each moves it forward, and leaves it to the
// fastest (policy.h). Nothing is computed twice, and since a world does not know who moved it, the
// results are those of any one engine.
#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "engine/auto/candidates.h"
#include "engine/auto/chronicle.h"
#include "engine/auto/policy.h"
#include "engine/auto/settings.h"
#include "run/clock.h"
#include "run/world_engine.h"

namespace orrery::automatic {
namespace {

std::vector<Policy::Candidate> for_policy(const std::vector<Candidate>& candidates) {
  std::vector<Policy::Candidate> all;
  for (const Candidate& one : candidates) all.push_back({one.family, one.workers});
  return all;
}

/// A run's way through the engines.
class Tour final : GoalKeeper {
 public:
  Tour(const std::vector<Candidate>& candidates, World& world, const RunOptions& options,
       const Goal& goal, RunControl& control)
      : candidates_(candidates),
        world_(world),
        options_(options),
        goal_(goal),
        watch_(goal),
        control_(control),
        every_(options.get(kHandOverEvery)),
        committed_before_(world.committed) {
    if (every_ == 0 && !stays()) policy_.emplace(for_policy(candidates));
  }

  void run(RunResult& result) {
    if (stays())
      result.notes.push_back("the model has LPs that stay on their thread, so " +
                             candidates_.front().text() +
                             " has the run from start to end; name an engine to choose another");
    while (take_step(result) && !watch_.reached(committed())) {
    }
    control_.engine.store(nullptr, std::memory_order_relaxed);
    result.workers = widest_;
    const Policy* const policy = policy_ ? &*policy_ : nullptr;
    chronicle_.store(result);
    result.account = chronicle_.account(policy);
    chronicle_.add_statistics(policy, result);
  }

 private:
  struct Step {
    std::size_t candidate;
    Goal goal;
    std::string why;
    Policy::Purpose purpose = Policy::Purpose::progress;
  };

  /// The world cannot change hands.
  bool stays() const { return world_.executions().any_stays_on_thread(); }
  /// Of a world that is whole.
  std::uint64_t committed() const { return world_.committed - committed_before_; }

  /// Every so many events the next one; a stride that changes makes pairs of all sorts.
  Step forced() {
    const std::size_t count = candidates_.size();
    const std::size_t now = place_;
    if (count > 1) place_ = (place_ + 1 + turns_++ / count % (count - 1)) % count;
    return {now, {.events = every_}, "forced"};
  }

  Step chosen() {
    const Policy::Step step = policy_->next(open_);
    const Goal goal{.seconds = step.seconds, .keeper = goal_.pauses() ? nullptr : this};
    return {step.candidate, goal, step.purpose == Policy::Purpose::trial ? "trial" : why_,
            step.purpose};
  }

  /// What this engine itself was asked for limits what it asks others for.
  Goal limited(Goal goal) const {
    if (goal_.events != Goal().events)
      goal.events = std::min(goal.events, watch_.until_look(committed(), goal_.events));
    goal.seconds = std::min(goal.seconds, goal_.seconds);
    return goal;
  }

  Step next_step() {
    if (stays()) return Step{0, {}, "the only one"};
    if (!policy_) return forced();
    if (chosen_) return *std::exchange(chosen_, std::nullopt);
    open_.clear();
    for (const Candidate& one : candidates_) open_.push_back(one.engine->may_pay(world_) ? 1 : 0);
    return chosen();
  }

  /// Gives the world to an engine for a while. False if the run is over.
  bool take_step(RunResult& result) {
    step_ = next_step();
    const Candidate& candidate = candidates_[step_.candidate];
    control_.workers.store(candidate.workers, std::memory_order_relaxed);
    control_.engine.store(candidate.info->name.c_str(), std::memory_order_relaxed);
    had_ = {};
    noted_ = {};
    watch_step_.lap();
    const std::uint64_t before = world_.committed;
    RunResult one;
    candidate.engine->advance(world_, options_for(candidate, options_), limited(step_.goal),
                              control_, one);
    had_ = {world_.committed - before, one.loop_seconds, had_.wall_seconds + watch_step_.lap()};
    const Policy::Outcome rest = since_noted();
    chronicle_.add(candidate, {step_.why, rest.events, rest.wall_seconds, rest.loop_seconds});
    chronicle_.add_result(candidate, one);
    if (step_.purpose != Policy::Purpose::trial) widest_ = std::max(widest_, candidate.workers);
    result.end = one.end;
    result.fault = one.fault;
    if (one.end != RunEnd::paused) return false;
    if (policy_) learn_at_cut(rest);
    return true;
  }

  /// What the engine that has the world has done.
  Policy::Outcome since_noted() {
    Policy::Outcome outcome;
    outcome.events = had_.events - noted_.events;
    outcome.loop_seconds = had_.loop_seconds - noted_.loop_seconds;
    outcome.wall_seconds = had_.wall_seconds - noted_.wall_seconds;
    noted_ = had_;
    return outcome;
  }

  void learn_at_cut(Policy::Outcome rest) {
    hand_over_seconds_ = had_.wall_seconds - had_.loop_seconds;
    pending_then_ = 0;
    for (const EventList& list : world_.pending) pending_then_ += list.size();
    if (chosen_) return policy_->note_given_back(rest.wall_seconds, step_.purpose);
    rest.hand_over_seconds = hand_over_seconds_;
    learn(rest);
  }

  void learn(const Policy::Outcome& outcome) {
    const std::size_t incumbent = policy_->incumbent();
    policy_->note(outcome);
    if (policy_->incumbent() == incumbent) return;
    why_ = "faster than " + candidates_[incumbent].text();
  }

  double hand_over_of(std::uint64_t pending) const {
    const bool known = pending > 0 && pending_then_ > 0;
    return known ? hand_over_seconds_ * static_cast<double>(pending) /
                       static_cast<double>(pending_then_)
                 : hand_over_seconds_;
  }

  /// Where the next step is the same engine's it goes on with the world as it has it. Not always:
  /// what a hand-over costs, and what is open to trials, is seen at cuts only. Called by a thread
  /// of the engine, while this one waits for the engine.
  std::optional<double> put_off(const Progress& progress) override {
    const bool progresses = step_.purpose == Policy::Purpose::progress;
    if (progresses && (pending_then_ == 0 || had_.wall_seconds > policy_->longest_slice()))
      return std::nullopt;
    had_.events = progress.committed;
    had_.loop_seconds += progress.seconds;
    had_.wall_seconds += watch_step_.lap() - progress.lag_seconds;
    Policy::Outcome outcome = since_noted();
    chronicle_.add(candidates_[step_.candidate],
                   {step_.why, outcome.events, outcome.wall_seconds, outcome.loop_seconds});
    had_.wall_seconds += progress.lag_seconds;
    outcome.hand_over_seconds = hand_over_of(progress.pending);
    outcome.stays = true;
    learn(outcome);
    chosen_ = chosen();
    if (chosen_->candidate != step_.candidate) return std::nullopt;
    step_ = *std::exchange(chosen_, std::nullopt);
    return step_.goal.seconds;
  }

  const std::vector<Candidate>& candidates_;
  World& world_;
  const RunOptions& options_;
  const Goal& goal_;
  const GoalWatch watch_;
  RunControl& control_;
  const std::uint64_t every_;
  const std::uint64_t committed_before_;
  std::optional<Policy> policy_;
  std::vector<char> open_;      ///< candidates for a trial, at the last cut
  std::optional<Step> chosen_;  ///< while the world is still with another
  Step step_{};
  Policy::Outcome had_, noted_;  ///< of the engine that has the world: all, and by the last note
  Stopwatch watch_step_;
  // At the last cut.
  double hand_over_seconds_ = 0;
  std::uint64_t pending_then_ = 0;
  Chronicle chronicle_;
  std::string why_ = "start";
  unsigned widest_ = 1;
  std::size_t place_ = 0, turns_ = 0;
};

class AutoEngine final : public WorldEngine {
 public:
  /// Heaps, if any candidate needs them, in parts for the most workers.
  World::Layout layout(const Model& model, const CommunicationGraph& graph,
                       const RunOptions& options, std::vector<std::string>& notes) const override {
    candidates_.emplace(model, options, notes);
    const Candidates& candidates = *candidates_;
    if (std::string note = note_partly_used(candidates.all(), options); !note.empty())
      notes.push_back(std::move(note));
    RunOptions widest = options;
    widest.workers = candidates.most_workers();
    World::Layout layout;
    for (const Candidate& one : candidates.all())
      if (layout.arenas.empty()) layout = one.engine->layout(model, graph, widest, notes);
    return layout;
  }
  void advance(World& world, const RunOptions& options, const Goal& goal, RunControl& control,
               RunResult& result) override {
    std::vector<std::string> told_before;
    if (!candidates_) candidates_.emplace(world.model(), options, told_before);
    Tour(candidates_->all(), world, options, goal, control).run(result);
  }

 private:
  /// Made once: who refuses a model may have to look at all of it.
  mutable std::optional<Candidates> candidates_;
};

const EngineRegistration registration{
    kName, "gives the run to whichever engine and number of workers is fastest at the moment",
    []() -> std::unique_ptr<Engine> { return std::make_unique<AutoEngine>(); }, options};

}  // namespace
}  // namespace orrery::automatic
