// SPDX-License-Identifier: Apache-2.0
//
// The engine that chooses engines. It executes nothing itself: it gives the run's world (world.h)
// to one engine after the other, measures how fast each advances the world, and leaves it to the
// fastest (policy.h). Nothing is computed twice. A world does not depend on the engine that
// advanced it, so the results are those of any single engine. With several ranks, rank 0 decides
// for all (agreement.h).
#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "engine/auto/agreement.h"
#include "engine/auto/candidates.h"
#include "engine/auto/chronicle.h"
#include "engine/auto/policy.h"
#include "engine/auto/settings.h"
#include "run/clock.h"
#include "run/execution/trace_recorder.h"
#include "run/world/world_engine.h"

namespace orrery::automatic {
namespace {

std::vector<Policy::Candidate> for_policy(const std::vector<Candidate>& candidates) {
  std::vector<Policy::Candidate> all;
  for (const Candidate& one : candidates) all.push_back({one.family, one.workers});
  return all;
}

/// Takes a run through the engines.
class EngineSwitcher final : GoalKeeper {
 public:
  /// `policy`, `course`: empty, or those of an earlier switcher of the same run.
  EngineSwitcher(const Candidates& candidates, std::optional<Policy>& policy, RunCourse& course,
                 World& world, const RunOptions& options, const Goal& goal, RunControl& control)
      : all_(candidates),
        candidates_(candidates.all()),
        policy_(policy),
        course_(course),
        world_(world),
        options_(options),
        goal_(goal),
        watch_(goal),
        control_(control),
        agreement_(control.ranks),
        every_(options.get(kHandOverEvery)),
        committed_before_(world.committed) {
    if (has_choice() && every_ == 0 && !policy_ && agreement_.decides())
      policy_.emplace(for_policy(candidates_));
  }

  void run(RunResult& result) {
    if (stays())
      result.notes.push_back("the model has LPs that stay on their thread, so " +
                             candidates_.front().text() +
                             " has the run from start to end; name an engine to choose another");
    while (take_step(result) && !agreement_.of_rank_0(is_there())) {
    }
    // A slice may end by its number of events just where the run does.
    if (result.end == RunEnd::paused && world_.cut >= Key::start_of(options_.until))
      result.end = RunEnd::completed;
    control_.engine.store(nullptr, std::memory_order_relaxed);
    result.workers = widest_;
    const Policy* const policy = policy_ ? &*policy_ : nullptr;
    chronicle_.store(result);
    chronicle_.add_to(course_);
    result.account = account_of(course_, policy, every_ > 0);
    chronicle_.add_statistics(policy, result);
  }

 private:
  struct Step {
    std::size_t candidate;
    Goal goal;
    std::string why;
    Policy::Purpose purpose = Policy::Purpose::progress;
  };

  /// Whether the world cannot go to another engine, since LPs must stay on their threads.
  bool stays() const { return world_.executions().any_stays_on_thread(); }
  bool has_choice() const { return candidates_.size() > 1 && !stays(); }
  /// Whether this engine's own goal is reached. Only while no engine has the world.
  bool is_there() const {
    return watch_.reached(committed()) || world_.cut >= Key::start_of(goal_.until);
  }
  /// Events committed by this switcher. Only while no engine has the world.
  std::uint64_t committed() const { return world_.committed - committed_before_; }

  /// For --hand-over-every: goes to another candidate after `every_` events. The stride changes, so
  /// that all pairs of candidates occur.
  Step forced() {
    const std::size_t count = candidates_.size();
    const std::size_t now = place_;
    if (count > 1) place_ = (place_ + 1 + turns_++ / count % (count - 1)) % count;
    return {now, {.events = every_}, "forced"};
  }

  Step chosen() {
    const Policy::Step step = policy_->next(open_);
    const bool keeps = !goal_.is_a_slice() && !agreement_.over_ranks();
    const Goal goal{.seconds = step.seconds, .keeper = keeps ? this : nullptr};
    return {step.candidate, goal, step.purpose == Policy::Purpose::trial ? "trial" : why_,
            step.purpose};
  }

  /// Limits the goal of a step by this engine's own goal.
  Goal limited(Goal goal) const {
    if (goal_.events != Goal().events)
      goal.events = std::min(goal.events, watch_.until_look(committed(), goal_.events));
    goal.seconds = std::min(goal.seconds, goal_.seconds);
    goal.until = goal_.until;
    goal.asked = goal_.asked;
    return goal;
  }

  Step next_step() {
    if (every_ > 0 && !stays()) return forced();
    if (!has_choice()) return {0, {}, "the only one"};
    if (!policy_) return {};  // another rank decides
    if (chosen_) return *std::exchange(chosen_, std::nullopt);
    open_.clear();
    for (const Candidate& one : candidates_) open_.push_back(one.engine->may_pay(world_) ? 1 : 0);
    return chosen();
  }

  /// The step of rank 0.
  Step agreed(Step own) const {
    if (!agreement_.over_ranks()) return own;
    struct Told {
      unsigned family, turn;
      std::uint64_t events;
      double seconds;
      Policy::Purpose purpose;
    };
    const Candidate& mine = candidates_[own.candidate];
    const Told told = agreement_.of_rank_0(
        Told{mine.family, mine.turn, own.goal.events, own.goal.seconds, own.purpose});
    own.candidate = all_.find(told.family, told.turn);
    own.goal.events = told.events;
    own.goal.seconds = told.seconds;
    own.purpose = told.purpose;
    return own;
  }

  /// Gives the world to an engine for a while. False if the run is over.
  bool take_step(RunResult& result) {
    step_ = agreed(next_step());
    const Candidate& candidate = candidates_[step_.candidate];
    control_.workers.store(candidate.workers, std::memory_order_relaxed);
    control_.engine.store(candidate.info->name.c_str(), std::memory_order_relaxed);
    had_ = {};
    noted_ = {};
    watch_step_.lap();
    const std::uint64_t before = world_.committed;
    RunResult one;
    TraceSpan span(run_lane_of(control_.trace), TraceKind::engine, world_.cut.time().ticks(), 0,
                   candidate.info->name);
    candidate.engine->advance(world_, options_for(candidate, options_), limited(step_.goal),
                              control_, one);
    had_ = {world_.committed - before, one.loop_seconds, had_.wall_seconds + watch_step_.lap()};
    span.set_count(world_.committed - before);
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

  /// What the engine that has the world has done since this was called last.
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

  /// If the next step has the same candidate, its engine goes on without a hand-over. Not always,
  /// because the cost of a hand-over, and which candidates may have trials, are found out at cuts
  /// only. Called by a thread of the engine, while the thread of this class waits for the engine.
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

  const Candidates& all_;
  const std::vector<Candidate>& candidates_;
  std::optional<Policy>& policy_;  ///< empty: the order is given, or another rank decides
  RunCourse& course_;              ///< of the run before this switcher
  World& world_;
  const RunOptions& options_;
  const Goal& goal_;
  const GoalWatch watch_;
  RunControl& control_;
  const Agreement agreement_;
  const std::uint64_t every_;
  const std::uint64_t committed_before_;
  std::vector<char> open_;      ///< candidates for a trial, at the last cut
  std::optional<Step> chosen_;  ///< next step, chosen while the previous engine has the world
  Step step_{};
  Policy::Outcome had_, noted_;  ///< of the engine that has the world: in all, and as noted last
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
  /// The layout with LP heaps if any candidate needs them, and with parts for the most workers.
  World::Layout layout(const Model& model, const CommunicationGraph& graph,
                       const RunOptions& options, std::vector<std::string>& notes) const override {
    candidates_.emplace(model, options, notes);
    RunOptions widest = options;
    widest.workers = candidates_->most_workers();
    widest.set(threads_option(), widest.workers);  // a part for each worker
    const std::optional<World::Layout> dealt = deal_to_ranks(model, graph, widest, notes);
    if (dealt) widest.set(write_partition_option(), {});  // `dealt` is written already
    if (std::string note = note_partly_used(candidates_->all(), options); !note.empty())
      notes.push_back(std::move(note));
    World::Layout layout;
    for (const Candidate& one : candidates_->all())
      if (layout.arenas.empty()) layout = one.engine->layout(model, graph, widest, notes);
    if (dealt) {
      layout.parts = dealt->parts;
      layout.ranks = dealt->ranks;
    }
    return layout;
  }
  bool spans_ranks() const override { return true; }
  void advance(World& world, const RunOptions& options, const Goal& goal, RunControl& control,
               RunResult& result) override {
    std::vector<std::string> told_before;
    if (!candidates_) candidates_.emplace(world.model(), options, told_before);
    EngineSwitcher(*candidates_, policy_, course_, world, options, goal, control).run(result);
  }

 private:
  /// LPs cannot go to another rank. So if a candidate needs LPs of a cluster on one rank
  /// (keeps_clusters), its layout decides which rank has which LPs. If that is impossible
  /// (--partition), the candidate is not tried, unless it is the only one.
  std::optional<World::Layout> deal_to_ranks(const Model& model, const CommunicationGraph& graph,
                                             const RunOptions& options,
                                             std::vector<std::string>& notes) const {
    if (options.place.ranks == 1) return {};
    const std::vector<Candidate>& all = candidates_->all();
    const auto one = std::find_if(all.begin(), all.end(), [](const Candidate& candidate) {
      return candidate.engine->keeps_clusters();
    });
    if (one == all.end()) return {};
    const unsigned family = one->family;
    try {
      std::vector<std::string> told_again;  // by the engine with heaps
      return one->engine->layout(model, graph, options, told_again);
    } catch (const UsageError& error) {
      if (std::all_of(all.begin(), all.end(), [&](auto& other) { return other.family == family; }))
        throw;
      notes.push_back("engine " + one->info->name + " is not tried: " + error.what());
      candidates_->drop(family);
      return {};
    }
  }

  /// Made once, because engines may have to look at the whole model before they refuse it.
  mutable std::optional<Candidates> candidates_;
  std::optional<Policy> policy_;
  RunCourse course_;
};

const EngineRegistration registration{
    kName, "changes to the engine and the number of workers that measure fastest",
    []() -> std::unique_ptr<Engine> { return std::make_unique<AutoEngine>(); }, options};

}  // namespace
}  // namespace orrery::automatic
