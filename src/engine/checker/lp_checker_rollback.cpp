// SPDX-License-Identifier: Apache-2.0
//
// LpChecker: rollbacks of one event and of several, and executing the undone events again.
#include <algorithm>
#include <string>
#include <utility>

#include "core/logical_process_access.h"
#include "engine/checker/lp_checker.h"
#include "memory/application_mode.h"
#include "orrery/error.h"
#include "run/containment/faults.h"
#include "run/containment/guarded_call.h"

namespace orrery::checker {
namespace {

// Open episodes: kMostEpisodes, or one per kLpsAnEpisode LPs if that is more, since LPs that rarely
// execute keep theirs open for long.
constexpr std::size_t kMostEpisodes = 64, kLpsAnEpisode = 16;
constexpr std::uint64_t kEpisodeOdds = 8;         // one event in so many begins an episode
constexpr std::uint32_t kEpisodeCheckpoints = 4;  // at most
constexpr Labels kSeveral{"when it was executed first", "after a rollback of several events"};

}  // namespace

RollbackStrategy::Lp LpChecker::view(CheckedLp& lp, RollbackHistory& history) {
  return {static_cast<LpId>(&lp - lps_.data()), lp.object, lp.memory.heap, lp.kernel, history};
}

/// Called before an execution that is to be rolled back: `strategy` takes the checkpoint it needs.
void LpChecker::prepare(RollbackStrategy& strategy, const RollbackStrategy::Lp& subject,
                        std::uint32_t ordinal) {
  reversing_ = strategy.before_event(subject, ordinal);
  execution_.outbox().undo_log = reversing_ ? &strategy.undo_log() : nullptr;
}

// ---- Over one event
// ------------------------------------------------------------------------------

/// Called before the first execution: takes a checkpoint, unless the LP has one right before the
/// event.
LpChecker::Rollback LpChecker::take(const Job& job) {
  CheckedLp& lp = lps_[job.lp];
  if (lp.episode != nullptr) {
    Episode& episode = *lp.episode;
    prepare(*episode.strategy, view(lp, episode.history), episode.now);
    // From an earlier checkpoint the LP would have to coast forward at each event, so take a copy.
    // No other strategy, since two shadows of one LP would take the tracked writes from each other.
    if (reversing_ || episode.history.checkpoints->ordinal == episode.now)
      return {*episode.strategy, episode.history, episode.now, lp.kernel, true};
  }
  RollbackStrategy& strategy =
      lp.episode != nullptr ? plan_.copy()
                            : plan_.choose(lp.turn++, lp.object, job.kind == Job::Kind::event);
  prepare(strategy, view(lp, strategy.single()), 0);
  return {strategy, strategy.single(), 0, lp.kernel, false};
}

/// Undoes the first execution and compares the LP with its image from before.
void LpChecker::roll_back(const Job& job, const Rollback& rollback) {
  CheckedLp& lp = lps_[job.lp];
  RollbackStrategy& strategy = rollback.strategy;
  const RollbackStrategy::Lp subject = view(lp, rollback.history);
  const std::uint32_t now = rollback.ordinal + 1;
  lp.kernel = first_.kernel;
  strategy.after_event(subject, now, first_.fault.empty());
  // As if the next event were about to be executed: the rollback begins at a newer delta, so that
  // it also covers runs of the heap that the event has added.
  if (strategy.kind() == checkpoint::Kind::delta) strategy.before_event(subject, now);
  Guard::undo(lp.memory, first_.steps);
  const std::uint32_t reached = restore(lp, job, strategy, rollback.history, now, rollback.ordinal);
  if (reached != rollback.ordinal) {
    // No reverse handler can undo an event that failed midway. The run ends at that event.
    const Difference difference = coast(lp, job, rollback.ordinal);
    if (!difference.empty()) report_difference(job, difference, Versus::same_world);
  }
  if (job.kind == Job::Kind::create) lp.object = nullptr;
  ++statistics_.rollbacks;
  verify_restored(lp, before_, rollback.kernel, strategy, 1);
  if (!rollback.of_episode) {
    strategy.release(subject);
  } else if (first_.fault.empty()) {
    strategy.before_repetition(subject, rollback.ordinal);
  }
}

/// Restores the LP's memory and kernel state, and the table of allocations of an episode, before
/// event `target`, or before an earlier event if there is no checkpoint for `target`; returns that
/// event. Reverse handlers run as in Time Warp: on the heap itself, without the guard.
std::uint32_t LpChecker::restore(CheckedLp& lp, const Job& job, RollbackStrategy& strategy,
                                 RollbackHistory& history, std::uint32_t now,
                                 std::uint32_t target) {
  Episode* const episode =
      lp.episode != nullptr && &history == &lp.episode->history ? lp.episode.get() : nullptr;
  CheckedEvent* undoing = nullptr;
  std::uint32_t reached = now;
  std::string fault;
  const auto event_at = [&](std::uint32_t ordinal) {
    {
      const memory::ApplicationMode application(lp.memory.heap);  // for the exception's memory
      heap_misuse().raise();                                      // by the reverse handler before
    }
    undoing = episode != nullptr && ordinal < episode->steps.size() ? episode->steps[ordinal].event
                                                                    : job.event;
    return checkpoint::Checkpointer::Event{undoing->time(), undoing->type,
                                           undoing->payload(lp.world), model_bytes_of(*undoing)};
  };
  memory::thread_context.observer = nullptr;
  guarded_call(
      lp.memory.heap,
      [&] {
        const memory::PlatformMode platform;  // the handlers' calls enter application mode
        reached = strategy.restore(view(lp, history), now, target, event_at);
      },
      [&] {
        if (undoing == nullptr) throw;
        fault = describe_current_exception(model_, job.lp, event_name(job.lp, undoing->type),
                                           undoing->time());
      });
  if (!fault.empty()) throw Finding{"its reverse handler failed: " + fault};
  if (reached > target)
    throw Finding{"the rollback by strategy '" + std::string(strategy.name()) +
                  "' did not go back far enough"};
  if (episode != nullptr) {
    while (episode->now > reached)
      Guard::undo(lp.memory, episode->steps[--episode->now].executed.steps);
  }
  return reached;
}

void LpChecker::verify_restored(const CheckedLp& lp, const std::vector<std::byte>& image,
                                const checkpoint::KernelState& kernel,
                                const RollbackStrategy& strategy, std::size_t events) {
  save(lp.memory.heap, scratch_);
  statistics_.compared_bytes += scratch_.size();
  const std::size_t at = scratch_.size() != image.size()
                             ? 0
                             : first_unequal(image.data(), scratch_.data(), scratch_.size());
  if (at == kNoDifference && kernel == lp.kernel) return;
  const std::byte* const address = address_in_image(lp, scratch_.size(), at);
  throw Finding{"the rollback " + (events > 1 ? "of " + std::to_string(events) + " events " : "") +
                "by strategy '" + std::string(strategy.name()) + "' did not restore it: " +
                (address == nullptr ? "the live memory or the state that the platform keeps"
                                    : address_text(lp, address)) +
                " is not what it was before " + (events > 1 ? "them" : "the event") +
                std::string(strategy.hint())};
}

// ---- Over several events
// -------------------------------------------------------------------------

void LpChecker::begin_episode(CheckedLp& lp) {
  if (!plan_.has_long_rollbacks() || lp.episode != nullptr ||
      open_episodes_ >= std::max<std::size_t>(kMostEpisodes, lps_.size() / kLpsAnEpisode))
    return;
  if (random_number() % kEpisodeOdds != 0) return;
  const auto up_to = [this](std::uint32_t fewest, std::uint32_t most) {
    return fewest + static_cast<std::uint32_t>(random_number() % (most - fewest + 1));
  };
  const std::uint32_t length = up_to(plan_.fewest_events(), plan_.most_events());
  RollbackStrategy& strategy = plan_.choose(lp.turn++, lp.object, true);
  lp.episode = std::make_unique<Episode>();
  lp.episode->world = lp.world;
  lp.episode->image = before_;
  lp.episode->kernel = lp.kernel;
  lp.episode->length = length;
  lp.episode->strategy = &strategy;
  lp.episode->history = strategy.make_history(
      up_to((length + kEpisodeCheckpoints - 1) / kEpisodeCheckpoints, length));
  ++open_episodes_;
}

/// Adds the event that was just checked to its LP's episode, if there is one, and returns the LP to
/// the episode's world: the event is part of the LP's history there from now on.
void LpChecker::note_step(CheckedLp& lp, const Job& job) {
  if (lp.episode == nullptr) return;
  Episode& episode = *lp.episode;
  go_to(lp, episode.world, lp.other);
  lp.other.swap(second_.image);  // which now is that of the episode's world
  episode.strategy->after_event(view(lp, episode.history), ++episode.now, true);
  episode.steps.push_back({job.event, first_.without_image()});
  if (episode.now == episode.length) end_episode(lp, job);
}

/// Rolls the LP back to the begin of the episode. Then commits the events before a random one in
/// the middle, and rolls the LP back to that one.
void LpChecker::end_episode(CheckedLp& lp, const Job& job) {
  Episode& episode = *lp.episode;
  roll_back_to(lp, job, 0);
  if (episode.length > 1) {
    const auto middle = 1 + static_cast<std::uint32_t>(random_number() % (episode.length - 1));
    episode.strategy->commit(view(lp, episode.history), middle);
    roll_back_to(lp, job, middle);
  }
  episode.steps.pop_back();  // the present event is still its owner's
  drop_episode(lp);
}

/// Rolls the LP back to an event of its episode, and executes it up to the present again.
void LpChecker::roll_back_to(CheckedLp& lp, const Job& job, std::uint32_t target) {
  Difference difference = go_back_to(lp, job, target);
  if (!difference.empty() && difference.only_bytes) {
    ++statistics_.one_offs;
    difference = go_back_to(lp, job, target);
  }
  if (!difference.empty()) report_difference(job, difference, Versus::same_world);
  ++statistics_.long_rollbacks;
}

Difference LpChecker::go_back_to(CheckedLp& lp, const Job& job, std::uint32_t target) {
  Episode& episode = *lp.episode;
  const std::size_t events = episode.now - std::min(episode.now, target);
  if (restore(lp, job, *episode.strategy, episode.history, episode.now, target) == 0)
    verify_restored(lp, episode.image, episode.kernel, *episode.strategy, events);
  const Difference difference = coast(lp, job, target);
  return difference.empty() ? compare_present(lp) : difference;
}

/// Executes the events of an episode again, from the one that a rollback has reached up to the
/// present. Events from `target` on were undone and join the LP's history again, as in Time Warp.
Difference LpChecker::coast(CheckedLp& lp, const Job& job, std::uint32_t target) {
  Episode& episode = *lp.episode;
  RollbackStrategy& strategy = *episode.strategy;
  const RollbackStrategy::Lp subject = view(lp, episode.history);
  // Saving for reverse handlers leaves traces on the stack, so it must be the same each time.
  const bool reversing_before = std::exchange(reversing_, episode.reversing());
  Difference difference;
  Guard::fill_free(lp.memory, episode.world);
  while (episode.now < episode.steps.size() && difference.empty()) {
    const Step& step = episode.steps[episode.now];
    const bool undone = episode.now >= target;
    if (undone && strategy.before_event(subject, episode.now))
      execution_.outbox().undo_log = &strategy.undo_log();
    execute({Job::Kind::event, job.lp, step.event->key(), step.event}, episode.world, episode.world,
            more_);
    execution_.outbox().undo_log = nullptr;
    lp.kernel = more_.kernel;
    ++episode.now;
    ++statistics_.coasted;
    if (undone) strategy.after_event(subject, episode.now, more_.fault.empty());
    difference = compare_effects(names_, step.executed, more_, Versus::same_world, kSeveral);
    if (!difference.empty())
      difference.add("this was its event " + event_name(job.lp, step.event->type) + " at " +
                         time_text(model_, step.event->time()),
                     true);
  }
  reversing_ = reversing_before;
  return difference;
}

/// Compares the LP's memory with what it was in the episode's world before the rollback.
Difference LpChecker::compare_present(const CheckedLp& lp) {
  save(lp.memory.heap, more_.image);
  const std::vector<std::byte>& expected = second_.image;
  statistics_.compared_bytes += more_.image.size();
  Difference difference;
  const std::size_t at = expected.size() != more_.image.size()
                             ? 0
                             : first_unequal(expected.data(), more_.image.data(), expected.size());
  if (at == kNoDifference) return difference;
  const std::byte* const address = address_in_image(lp, more_.image.size(), at);
  difference.add(address == nullptr
                     ? "it holds other allocations after a rollback of several events"
                     : address_text(lp, address) + " holds " +
                           hex_text(expected.data(), expected.size(), at) + " " +
                           std::string(kSeveral.a) + " and " +
                           hex_text(more_.image.data(), more_.image.size(), at) + " " +
                           std::string(kSeveral.b),
                 address != nullptr);
  return difference;
}

void LpChecker::drop_episode(CheckedLp& lp) {
  if (lp.episode == nullptr) return;
  lp.episode->strategy->release(view(lp, lp.episode->history));
  for (const Step& step : lp.episode->steps) blocks_.release(step.event, step.event->block_bytes());
  lp.episode.reset();
  --open_episodes_;
}

}  // namespace orrery::checker
