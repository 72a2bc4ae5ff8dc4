// SPDX-License-Identifier: Apache-2.0
//
// The example of docs/guide-engines.md: bounded time windows with a barrier (Lubachevsky: Efficient
// distributed event-driven simulations of multiple-loop networks. CACM 32(1), 1989; Nicol: The cost
// of conservative synchronization in parallel discrete event simulations. JACM 40(2), 1993), on
// threads and ranks.
//
// Let W be the lowest key of all events that are not executed, and L the smallest delay that the
// model promises between LPs of different workers. An event that an executed event sends to another
// worker is at W + L or later. So each worker may execute its events before W + L in the order of
// their keys without regard to the others. Then all workers meet, exchange the events that they
// have sent, and agree on the next W. LPs that may reach each other without delay are on one worker.
//
// The engine publishes less than others and does not balance loads. It is meant to be read.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "run/clock.h"
#include "run/options/model_checks.h"
#include "run/workers/conclusion.h"
#include "run/workers/event_loop.h"
#include "run/workers/supersteps.h"
#include "run/world/placement.h"

namespace orrery::windows {
namespace {

/// What a worker, a rank or all ranks report at a meeting.
struct Report {
  Key lowest = Key::infinity();  ///< of the events that are not executed, or of one that has failed
  Key highest;                   ///< of the events that were begun
  std::uint64_t executed = 0, pending = 0, memory_bytes = 0;
  bool failed = false;  ///< the event with the lowest key has failed
  bool stop = false, pause = false;

  void add(const Report& one) {
    if (one.lowest < lowest) failed = one.failed;
    lowest = std::min(lowest, one.lowest);
    highest = std::max(highest, one.highest);
    executed += one.executed;
    pending += one.pending;
    memory_bytes += one.memory_bytes;
    stop |= one.stop;
    pause |= one.pause;
  }
};

using Steps = Supersteps<Report>;
using Loop = EventLoop<Steps>;

struct Counters {
  std::uint64_t windows = 0, messages = 0;
};
constexpr CounterInfo<Counters> kCounters[] = {
    {&Counters::windows, Merge::maximum, "windows", "times that all workers met"},
    {&Counters::messages, Merge::sum, "messages", "events sent to another worker"},
};

/// The worker of each LP, or workers + r for an LP of rank r. LPs that may reach each other without
/// delay have the worker of the lowest of them, wherever the engine before has placed them.
std::vector<std::uint16_t> owners_of(const World& world, unsigned workers) {
  std::vector<std::uint16_t> owners(world.lp_count());
  for (LpId id = 0; id < world.lp_count(); ++id) {
    const LpId first = world.promises().clusters().of(id);
    const unsigned owner = world.is_here(id) ? world.worker_of(world.part_of(id), workers)
                                             : workers + world.rank_of(id);
    owners[id] = first != id ? owners[first] : static_cast<std::uint16_t>(owner);
  }
  return owners;
}

/// The smallest delay that is promised between LPs of different owners, on this rank or any other.
/// Nothing if there are no such LPs, or if none of them communicate.
std::optional<Duration> shortest_delay(const World& world, const Steps& steps) {
  const Promises& promises = world.promises();
  std::optional<Duration> shortest;
  const auto note = [&](Duration delay) { shortest = std::min(shortest.value_or(delay), delay); };
  if (!promises.complete()) {
    for (LpId id = 1; id < world.lp_count() && !shortest; ++id)
      if (steps.owner(id) != steps.owner(0)) note(promises.lookahead());
  } else {
    promises.for_each_edge([&](LpId from, const Promises::Edge& edge) {
      if (steps.owner(from) != steps.owner(edge.to)) note(edge.minimum_delay);
    });
  }
  return shortest;
}

/// The events that may be executed until the next meeting. Every worker has one of its own and
/// changes it by the same reports, so all of them are equal.
class Window {
 public:
  /// `end`: nothing at or after it is executed; a pause or the horizon.
  Window(const Key& cut, Time end, Time horizon, std::uint64_t goal_events,
         std::optional<Duration> delay)
      : end_(end), horizon_(horizon), goal_events_(goal_events), delay_(delay), begin_(cut) {}

  /// Whether an event may be executed now. An LP that acts on the outside executes an event only
  /// when all events before it are executed and have not failed.
  bool has(const PlainEvent& event, const LpExecutions& executions) const {
    if (event.key() >= limit_) return false;
    return !executions.any_committed() || event.key() == lowest_ ||
           executions.of(event.receiver) != LpExecution::committed;
  }
  /// Moves to the events that are next. Returns how the work ends, if it ends here.
  std::optional<Ending> move(const Report& all) {
    lowest_ = all.lowest;
    if (all.failed) return Ending{RunEnd::fault, lowest_};
    if (lowest_.time() >= horizon_) return Ending{RunEnd::completed, Key::infinity()};
    if (lowest_.time() >= end_) return Ending{RunEnd::paused, Key::start_of(end_)};
    if (!halts_ && (all.stop || all.pause || all.executed >= goal_events_)) {
      // Everything that was begun comes before the cut, and nothing else is begun.
      halts_ = Ending{all.stop ? RunEnd::interrupted : RunEnd::paused,
                      std::max(all.highest.next(), begin_)};
    }
    if (halts_ && lowest_ >= halts_->cut) return halts_;
    const bool reaches_end = !delay_ || end_ - lowest_.time() <= *delay_;
    limit_ = Key::start_of(reaches_end ? end_ : lowest_.time() + *delay_);
    if (halts_) limit_ = std::min(limit_, halts_->cut);
    return std::nullopt;
  }

 private:
  const Time end_, horizon_;
  const std::uint64_t goal_events_;
  const std::optional<Duration> delay_;
  const Key begin_;  ///< the world's cut before
  Key lowest_, limit_;
  std::optional<Ending> halts_;
};

/// The engine's work with a world, from one cut to the next.
class Run {
 public:
  Run(World& world, const RunOptions& options, const Goal& goal, RunControl& control,
      unsigned workers)
      : world_(world),
        options_(options),
        goal_(goal),
        control_(control),
        team_(workers, options.bind, options.place),
        steps_(owners_of(world, workers), team_, control),
        delay_(shortest_delay(world, steps_)),
        watch_(goal) {
    for (unsigned i = 0; i < workers; ++i)
      loops_.push_back(std::make_unique<Loop>(world, options, control, steps_, i));
  }
  ~Run() { team_.join(); }  // threads run if others could not be started
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  void advance(RunResult& result) {
    if (control_.rows != nullptr) control_.rows->begin(team_.workers());
    Stopwatch time;
    team_.start(0, {[this](unsigned worker) { loops_[worker]->run([&] { work(worker); }); }});
    team_.finish();
    result.startup_seconds += set_up_seconds_;
    result.loop_seconds += time.lap() - set_up_seconds_;
    Counters counters{steps_.meetings(0), 0};
    for (unsigned i = 0; i < team_.workers(); ++i) counters.messages += steps_.sends(i);
    steps_.close();
    counters = conclude(world_, options_, control_, ending_, loops_, kCounters, counters, result);
    result.peak_memory_bytes += steps_.depot().slab_bytes();
    team_.add_notes(result.notes);
    result.account = fmt::format("{} windows, {} events went from worker to worker",
                                 counters.windows, counters.messages);
  }

 private:
  void work(unsigned worker) {
    Loop& loop = *loops_[worker];
    Stopwatch setting_up;
    loop.take_events();
    Window window(world_.cut, goal_.end(options_), options_.until, goal_.events, delay_);
    Report all;
    for (bool is_set_up = false;; is_set_up = true) {
      const std::optional<Report> sum = steps_.meet(
          worker, [&](PlainEvent* event) { loop.push(event); },
          [&] { return report(worker, all); });
      if (!sum) return;  // another worker has failed, and its exception is thrown again
      all = *sum;
      if (worker == 0 && !is_set_up) {
        set_up_seconds_ = setting_up.lap();
        watch_.restart();
      }
      loop.commit(all.lowest);
      if (worker == 0) publish(all);
      const std::optional<Ending> ending = window.move(all);
      if (ending) {
        loop.end(ending->end, ending->cut);
        if (worker == 0) ending_ = *ending;
        return;
      }
      loop.execute([&](const PlainEvent& event) { return window.has(event, world_.executions()); });
    }
  }

  /// `before`: the sum of all reports at the last meeting.
  Report report(unsigned worker, const Report& before) {
    Loop& loop = *loops_[worker];
    Report report;
    report.lowest = loop.lowest();
    report.highest = loop.highest();
    report.executed = loop.executed();
    report.pending = loop.pending();
    report.memory_bytes = loop.memory_bytes();
    report.failed = loop.has_failed();
    report.stop = control_.stop_requested.load(std::memory_order_relaxed);
    // One worker of all ranks watches the clock.
    report.pause = worker == 0 && options_.place.rank == 0 &&
                   watch_.reached_for_good(before.executed, before.pending);
    return report;
  }

  void publish(const Report& all) {
    control_.publish(std::min(all.lowest.time(), options_.until), world_.committed + all.executed,
                     world_.executed + all.executed,
                     all.memory_bytes + steps_.depot().slab_bytes());
  }

  World& world_;
  const RunOptions& options_;
  const Goal& goal_;
  RunControl& control_;
  Team team_;
  Steps steps_;
  const std::optional<Duration> delay_;
  GoalWatch watch_;  ///< worker 0's
  std::vector<std::unique_ptr<Loop>> loops_;
  Ending ending_;
  double set_up_seconds_ = 0;
};

class WindowsEngine final : public WorldEngine {
 public:
  /// Without any promise one worker has all LPs.
  std::string refusal(const Model& model, const RunOptions& options) const override {
    if (options.place.ranks == 1 || lookahead_of(model) > Duration::zero() ||
        communication_of(model).is_complete())
      return {};
    return "it promises no smallest delay between any LPs, so one worker would have to execute "
           "them "
           "all; leave --ranks away, or let lookahead() or communication() promise one";
  }
  bool spans_ranks() const override { return true; }
  bool keeps_clusters() const override { return true; }
  World::Layout layout(const Model& model, const CommunicationGraph& graph,
                       const RunOptions& options, std::vector<std::string>& notes) const override {
    return place_lps(model, graph, options, count_threads(options, count_workers(options, model)),
                     notes, CutRule::long_delays);
  }
  void advance(World& world, const RunOptions& options, const Goal& goal, RunControl& control,
               RunResult& result) override {
    const unsigned threads = count_threads(options, count_workers(options, world.model()));
    Run(world, options, goal, control, std::min(threads, world.parts())).advance(result);
  }
};

const EngineRegistration registration{
    "windows", "conservative: all workers execute one window of time, then meet",
    []() -> std::unique_ptr<Engine> { return std::make_unique<WindowsEngine>(); },
    [] {
      return OptionList{&workers_option(), &bind_option(), &threads_option(), &partition_option(),
                        &write_partition_option()};
    }};

}  // namespace
}  // namespace orrery::windows
