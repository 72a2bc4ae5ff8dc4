// SPDX-License-Identifier: Apache-2.0
//
// The engine that chooses engines. It executes nothing itself: it gives the run's world (world.h)
// to one engine after the other, measures how fast each moves it forward, and leaves it to the
// fastest (policy.h). Nothing is computed twice, and since a world does not know who moved it, the
// results are those of any one engine.
#include <algorithm>
#include <cmath>
#include <optional>

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
class Tour {
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
    bool trial = false;
  };

  /// The world cannot change hands.
  bool stays() const { return world_.executions().any_stays_on_thread(); }
  std::uint64_t committed() const { return world_.committed - committed_before_; }

  /// Every so many events the next one; a stride that changes makes pairs of all sorts.
  Step forced() {
    const std::size_t count = candidates_.size();
    const std::size_t now = place_;
    if (count > 1) place_ = (place_ + 1 + turns_++ / count % (count - 1)) % count;
    return {now, {.events = every_}, "forced"};
  }

  Step chosen() {
    std::vector<char> open;
    for (const Candidate& one : candidates_) open.push_back(one.engine->may_pay(world_) ? 1 : 0);
    const Policy::Step step = policy_->next(open);
    const bool trial = step.purpose == Policy::Purpose::trial;
    return {step.candidate, {.seconds = step.seconds}, trial ? "trial" : why_, trial};
  }

  /// What this engine itself was asked for limits what it asks others for.
  Goal limited(Goal goal) const {
    if (goal_.events != Goal().events)
      goal.events = std::min(goal.events, watch_.until_look(committed(), goal_.events));
    goal.seconds = std::min(goal.seconds, goal_.seconds);
    return goal;
  }

  /// Gives the world to an engine for a while. False if the run is over.
  bool take_step(RunResult& result) {
    const Step step = stays() ? Step{0, {}, "the only one"} : policy_ ? chosen() : forced();
    const Candidate& candidate = candidates_[step.candidate];
    control_.workers.store(candidate.workers, std::memory_order_relaxed);
    control_.engine.store(candidate.info->name.c_str(), std::memory_order_relaxed);
    const std::uint64_t before = world_.committed;
    RunResult one;
    Stopwatch watch;
    candidate.engine->advance(world_, options_for(candidate, options_), limited(step.goal),
                              control_, one);
    const double seconds = watch.lap();
    if (!step.trial) widest_ = std::max(widest_, candidate.workers);
    chronicle_.add(candidate, step.why, seconds, world_.committed - before, one);
    result.end = one.end;
    result.fault = one.fault;
    if (one.end != RunEnd::paused) return false;
    if (policy_) learn({world_.committed - before, one.loop_seconds, seconds});
    return true;
  }

  void learn(const Policy::Outcome& outcome) {
    const std::size_t incumbent = policy_->incumbent();
    policy_->note(outcome);
    if (policy_->incumbent() == incumbent) return;
    why_ = "faster than " + candidates_[incumbent].text();
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
