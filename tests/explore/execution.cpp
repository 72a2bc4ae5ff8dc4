// SPDX-License-Identifier: Apache-2.0
//
// One run of a scenario: whose turn it is, and how a run ends.
#include "explore/execution.h"

#include <utility>

namespace orrery::explore {

namespace {

constexpr const char* kDeadlock =
    "deadlock: those that have not ended wait for a change that nobody makes";
Execution* active_execution = nullptr;

}  // namespace

Execution::Execution(const Options& options, const MakeScenario& make)
    : options_(options), make_(make) {
  if (options.threads == 0 || options.threads > kMostThreads)
    stop("a scenario has one to kMostThreads threads (explore/knowledge.h)");
  if (active_execution != nullptr) stop("explorations cannot be nested");
  active_execution = this;
  threads_[kOutside].fiber = std::make_unique<Fiber>();
  for (unsigned i = 0; i < options.threads; ++i)
    threads_[i].fiber = std::make_unique<Fiber>([this, i] { live(i); });
}

Execution::~Execution() {
  active_execution = nullptr;
}

Execution& Execution::active() {
  if (active_execution == nullptr)
    stop("atomics and cells belong into a scenario that is explored");
  return *active_execution;
}

void Execution::run(Path& path, unsigned bound, bool& cut) {
  begin_run();
  path_ = &path;
  left_ = bound;
  cut_ = false;
  try {
    scenario_ = make_();
    Knowledge& outside = threads_[kOutside].knowledge;
    for (unsigned i = 0; i < options_.threads; ++i) {
      Thread& thread = threads_[i];
      thread.ended = false;
      thread.chosen = true;
      thread.since = steps_;
      thread.knowledge = outside;
      thread.knowledge.clock[i] = 1;
    }
    ++outside.clock[kOutside];
    hand_over(from(0));
    finish_scenario();
  } catch (const Abandoned&) {
  }
  abandon_all();
  running_ = kOutside;
  scenario_.reset();
  cut = cut || cut_;
}

void Execution::begin_run() {
  for (Thread& thread : threads_) {
    thread.started = thread.waiting = thread.read_old = false;
    thread.ended = true;
    thread.read = thread.since = 0;
    thread.knowledge = {};
  }
  running_ = kOutside;
  threads_[kOutside].knowledge.clock[kOutside] = 1;
  locations_.clear();
  steps_ = 0;
  failed_ = false;
  what_.clear();
  trace_.clear();
}

void Execution::finish_scenario() {
  Knowledge& outside = threads_[kOutside].knowledge;
  for (unsigned i = 0; i < options_.threads; ++i) outside.join(threads_[i].knowledge);
  scenario_->finish();
}

/// Unwinds the threads of a run that failed, so that what is on their stacks is destroyed.
void Execution::abandon_all() {
  for (unsigned i = 0; i < options_.threads; ++i)
    if (threads_[i].started && !threads_[i].ended) resume(i);
}

/// A thread's life, run after run.
void Execution::live(unsigned thread) {
  for (;;) {
    try {
      scenario_->run(thread);
    } catch (const Abandoned&) {
    } catch (const std::exception& error) {
      failed_ = true;
      what_ = std::string("exception: ") + error.what();
    }
    threads_[thread].ended = true;
    unsigned next = kOutside;
    if (const Candidates candidates = from(thread); !failed_ && candidates.count > 0) {
      next = candidates.list[choose(candidates.count)];
    } else if (!failed_ && !all_ended()) {
      failed_ = true;
      what_ = kDeadlock;
    }
    resume(next);
  }
}

bool Execution::may_go_on(unsigned index) const {
  const Thread& thread = threads_[index];
  if (thread.ended) return false;
  if (!thread.waiting || thread.read_old) return true;
  for (const Location* at : locations_) {
    if (at == nullptr || (thread.read >> at->number & 1) == 0) continue;
    for (unsigned other = 0; other < options_.threads; ++other)
      if (other != index && at->written[other] > thread.since) return true;
  }
  return false;
}

bool Execution::all_ended() const {
  for (unsigned i = 0; i < options_.threads; ++i)
    if (!threads_[i].ended) return false;
  return true;
}

Execution::Candidates Execution::from(unsigned first) const {
  Candidates candidates;
  for (unsigned i = 0; i < options_.threads; ++i) {
    const unsigned thread = (first + i) % options_.threads;
    if (may_go_on(thread)) candidates.list[candidates.count++] = thread;
  }
  return candidates;
}

void Execution::resume(unsigned thread) {
  Fiber& from = *threads_[running_].fiber;
  running_ = thread;
  threads_[thread].started = true;
  from.switch_to(*threads_[thread].fiber);
}

/// The first alternative is what happens by itself; any other costs a deviation.
unsigned Execution::choose(unsigned count) {
  if (count == 1) return 0;
  const unsigned allowed = left_ > 0 ? count : 1;
  cut_ |= allowed < count;
  const unsigned taken = path_->choose(allowed);
  if (taken > 0) --left_;
  return taken;
}

void Execution::hand_over(const Candidates& candidates) {
  const unsigned next = candidates.list[choose(candidates.count)];
  if (next != running_) resume(next);
  if (failed_) throw Abandoned();
}

void Execution::point() {
  if (std::exchange(current().chosen, false)) return;
  hand_over(from(running_));
}

void Execution::wait_for_change() {
  if (running_ == kOutside || failed_) return;
  Thread& thread = current();
  thread.waiting = true;
  const Candidates candidates = from((running_ + 1) % options_.threads);
  if (candidates.count == 0) fail(kDeadlock);
  hand_over(candidates);
  thread.waiting = thread.read_old = false;
  thread.chosen = true;
  thread.read = 0;
  thread.since = steps_;
}

void Execution::fail(const std::string& what) {
  if (!failed_) what_ = what;
  failed_ = true;
  throw Abandoned();
}

}  // namespace orrery::explore
