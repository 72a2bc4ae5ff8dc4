// SPDX-License-Identifier: Apache-2.0
#include "engine/conservative/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <new>

#include "core/cycles.h"
#include "run/clock.h"
#include "run/options/disturbances.h"
#include "run/threads/waiting.h"

namespace orrery::conservative {

ConservativeRun::ConservativeRun(World& world, const RunOptions& options, const Goal& goal,
                                 unsigned workers, RunControl& control)
    : world_(world),
      options_(options),
      control_(control),
      parts_(world, workers, options.disturbances->part_lps()),
      team_(workers, options.bind, options.place),
      plan_(parts_.shortest_delay(world.promises()), world.cut, goal.end(options), options.until,
            goal.events),
      meetings_(workers),
      goal_(goal),
      goal_events_(goal.events) {
  constexpr std::size_t kChannelEvents = 4096;
  if (control.ranks != nullptr)
    parts_.connect(*control.ranks, options.disturbances->channel_messages(kChannelEvents));
  for (unsigned i = 0; i < workers; ++i)
    workers_.push_back(std::make_unique<Worker>(world, options, control, parts_, plan_, i,
                                                options.disturbances->step_events()));
}

ConservativeRun::~ConservativeRun() {
  team_.join();  // threads run if others could not be started
  try {
    give_lps_back();
  } catch (const std::bad_alloc&) {
    // The run has failed already, or fails now; these LPs are never called again.
  }
}

void ConservativeRun::advance(RunResult& result) {
  if (control_.rows != nullptr) control_.rows->begin(team_.workers());
  Stopwatch watch;
  team_.start(0, {[this](unsigned index) { workers_[index]->loop().run([&] { work(index); }); }});
  team_.finish();
  result.startup_seconds += set_up_seconds_;
  result.loop_seconds += watch.lap() - set_up_seconds_;
  conclude(result);
}

// ---- By every worker

void ConservativeRun::work(unsigned index) {
  if (!set_up(index) || !execute_windows(index)) return;
  workers_[index]->loop().commit_rows(plan_.ending()->cut);
  if (world_.parts() >= team_.workers())
    workers_[index]->give_back(*plan_.ending(), windows_,
                               world_.pending[world_.first_part(index, team_.workers())]);
}

/// False if a worker has failed.
bool ConservativeRun::set_up(unsigned index) {
  Stopwatch watch;
  parts_.take_lps(index);
  if (!team_.end_step()) return false;
  if (index == 0) parts_.end_taking();
  workers_[index]->take_events();
  if (!team_.end_step()) return false;
  if (index == 0) {
    set_up_seconds_ = watch.lap();
    goal_.restart();
  }
  return true;
}

/// The first window has no events: the workers find the lowest one. False if a worker has failed.
bool ConservativeRun::execute_windows(unsigned index) {
  Worker& worker = *workers_[index];
  Window window;
  window.limit = std::numeric_limits<std::int64_t>::min();
  for (std::uint64_t number = 1; !window.is_over; ++number) {
    if (!meet(index, number, worker.execute(window, number))) return false;
    window = meetings_.decision();
    if (window.hands_rows) worker.loop().commit_rows(window.lowest);
  }
  return true;
}

/// Waits for all workers of all ranks. False if a worker has failed.
bool ConservativeRun::meet(unsigned index, std::uint64_t meeting, const WorkerReport& report) {
  if (index > 0) {
    meetings_.arrive(index, meeting, report);
    return wait(index, [&] { return meetings_.is_open(meeting); });
  }
  unsigned first = 1;
  if (!wait(index, [&] { return meetings_.all_arrived(meeting, first); })) return false;
  windows_ = meeting;
  const std::optional<Window> window = decide(report);
  if (window) meetings_.open(meeting, *window);
  return window.has_value();
}

/// False if a worker has failed.
template <class Ready>
bool ConservativeRun::wait(unsigned index, Ready&& ready) {
  const TraceSpan span(lane_of(control_.trace, index), TraceKind::idle);
  if (SpinThenYield(team_.crowded()).wait(ready)) return true;
  for (Backoff backoff(true); !ready(); backoff.wait())
    if (team_.failed()) return false;
  return true;
}

// ---- By worker 0, at a meeting

/// Nothing if a worker has failed.
std::optional<Window> ConservativeRun::decide(const WorkerReport& own) {
  Report report;
  report.add(own);
  for (unsigned i = 1; i < team_.workers(); ++i) report.add(meetings_.report_of(i));
  const std::uint64_t now = read_cycles();
  const bool looks = now >= next_look_cycles_;
  if (looks) memory_bytes_ = parts_.bytes();
  report.memory_bytes = memory_bytes_;
  report.stop = control_.stop_requested.load(std::memory_order_relaxed) ? 1 : 0;
  // One rank watches the clock.
  report.pause =
      world_.place().rank == 0 && goal_.time_is_over_for_good(now, all_.executed, all_.pending);
  if (report.stop != 0 || report.pause != 0 || report.executed >= goal_events_ || parts_.link())
    for (const auto& worker : workers_)
      report.highest = std::max(report.highest, worker->loop().highest());
  const std::optional<Report> all = report_of_all(report);
  if (!all) return std::nullopt;
  all_ = *all;
  Window window = plan_.next(all_);
  window.hands_rows = looks;
  // The next window will last about as long as this one.
  window.is_long = now - met_cycles_ >= cycles_in(kLongSeconds);
  met_cycles_ = read_cycles();
  if (looks) look(now);
  return window;
}

/// Nothing if a worker has failed.
std::optional<Report> ConservativeRun::report_of_all(Report report) {
  RankLink* const link = parts_.link();
  if (link == nullptr) return report;
  return link->meet(
      team_, [this](PlainEvent* event) { parts_.arrive(event); },
      [&] {
        WorkerReport arrived;
        arrived.note(parts_.lowest_sent(0));
        report.add(arrived);
        return report;
      });
}

/// Publishes the progress.
void ConservativeRun::look(std::uint64_t cycles) {
  next_look_cycles_ = cycles + cycles_in(kLookSeconds);
  TraceSpan span(lane_of(control_.trace, 0), TraceKind::gvt_round,
                 std::min(all_.lowest.time(), options_.until).ticks());
  span.set_count(world_.committed + all_.executed);
  control_.publish(std::min(all_.lowest.time(), options_.until), world_.committed + all_.executed,
                   world_.executed + all_.executed, all_.memory_bytes);
}

// ---- At the end

void ConservativeRun::conclude(RunResult& result) {
  std::vector<Loop*> loops;
  Counters counters{windows_, 0, parts_.owners(), 0};
  for (unsigned i = 0; i < team_.workers(); ++i) {
    loops.push_back(&workers_[i]->loop());
    counters.messages += parts_.sends(i);
    counters.taken_over += parts_.taken_over(i);
    if (world_.parts() < team_.workers())
      workers_[i]->give_back(*plan_.ending(), windows_, world_.pending[0]);
  }
  result.peak_memory_bytes += parts_.bytes();
  parts_.disconnect();
  counters = orrery::conclude(world_, options_, control_, *plan_.ending(), loops, kCounters,
                              counters, result);
  team_.add_notes(result.notes);
  result.account = fmt::format(
      "{} windows of time; {} events went to another part of the LPs, of which there are {}",
      fmt::group_digits(counters.windows), fmt::group_digits(counters.messages), counters.parts);
  give_lps_back();
}

/// Called last, when all else is freed, because it takes memory.
void ConservativeRun::give_lps_back() {
  workers_.clear();
  parts_.give_lps_back();
}

}  // namespace orrery::conservative
