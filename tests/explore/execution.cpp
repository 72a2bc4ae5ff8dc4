// SPDX-License-Identifier: Apache-2.0
//
// One run of a scenario: choices, threads, and the memory that they share.
#include "explore/execution.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <utility>

namespace orrery::explore {

namespace {

constexpr std::uint64_t kMostSteps = 20'000;
constexpr const char* kDeadlock =
    "deadlock: those that have not ended wait for a change that nobody makes";
Execution* active_execution = nullptr;

bool acquires(std::memory_order order) {
  return order == std::memory_order_acquire || order == std::memory_order_acq_rel ||
         order == std::memory_order_seq_cst;
}
bool releases(std::memory_order order) {
  return order == std::memory_order_release || order == std::memory_order_acq_rel ||
         order == std::memory_order_seq_cst;
}

[[noreturn]] void stop(const char* sentence) {
  std::fprintf(stderr, "explore: %s\n", sentence);
  std::abort();
}

}  // namespace

// --- choices
// --------------------------------------------------------------------------------------

unsigned Path::choose(unsigned count) {
  if (depth_ == path_.size()) path_.push_back({0, count});
  Choice& choice = path_[depth_++];
  if (choice.count == 0) choice.count = count;
  if (choice.taken >= count || choice.count != count)
    stop("the choices do not fit: the scenario must do the same in every run");
  return choice.taken;
}

bool Path::advance() {
  path_.resize(depth_);
  while (!path_.empty() && path_.back().taken + 1 == path_.back().count) path_.pop_back();
  if (path_.empty()) return false;
  ++path_.back().taken;
  return true;
}

void Path::set(const std::vector<unsigned>& choices) {
  path_.clear();
  for (const unsigned taken : choices) path_.push_back({taken, 0});
  depth_ = 0;
}

std::vector<unsigned> Path::choices() const {
  std::vector<unsigned> choices;
  for (std::size_t i = 0; i < depth_; ++i) choices.push_back(path_[i].taken);
  while (!choices.empty() && choices.back() == 0) choices.pop_back();
  return choices;
}

// --- what exists
// ----------------------------------------------------------------------------------

Tracked::Tracked() {
  Execution::active().add(this, position_);
}
Tracked::~Tracked() {
  Execution::active().remove(position_);
}

Location::Location(std::uint64_t initial) : number(Execution::active().add(this)) {
  stores.reserve(8);
  stores.push_back({initial, {}});
}
Location::~Location() {
  Execution::active().remove(*this);
}

void Execution::add(Tracked* tracked, std::size_t& position) {
  position = tracked_.size();
  tracked_.push_back(tracked);
}

void Execution::remove(std::size_t position) {
  tracked_[position] = tracked_.back();
  tracked_[position]->position_ = position;
  tracked_.pop_back();
}

unsigned Execution::add(Location* location) {
  if (locations_.size() == kMostAtomics)
    stop("too many atomics: raise kMostAtomics (explore/knowledge.h)");
  locations_.push_back(location);
  return static_cast<unsigned>(locations_.size() - 1);
}

/// An access to plain memory; what it must come after has to have happened before it.
void Execution::access(Tracked& at, const Clock& must_precede, const char* what) {
  if (failed_) return;
  if (at.freed) fail(std::string(what) + " of what was freed");
  const Knowledge& known = current().knowledge;
  if (!known.covers(must_precede))
    fail(std::string("data race: a ") + what +
         " that nothing orders after another thread's access");
  at.accesses[running_] = known.clock[running_];
}

/// Frees the atomics and cells in these bytes.
void Execution::free(const void* begin, std::size_t bytes) {
  const std::less<const void*> before;
  const void* end = static_cast<const char*>(begin) + bytes;
  for (Tracked* tracked : tracked_) {
    if (before(tracked, begin) || !before(tracked, end)) continue;
    access(*tracked, tracked->accesses, "freeing");
    tracked->freed = true;
  }
}

// --- threads
// --------------------------------------------------------------------------------------

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

// --- atomics
// --------------------------------------------------------------------------------------

void Execution::begin(Operation& operation, Location& at) {
  if (running_ != kOutside && !failed_) point();
  if (options_.mutation) options_.mutation(operation);
  access(at, {}, "atomic operation");
  if (++steps_ > kMostSteps && !failed_) fail("no end: too many operations in one run");
}

std::uint64_t Execution::load(Location& at, std::memory_order order) {
  Operation operation{at.number, Operation::Kind::load, order, 0};
  begin(operation, at);
  Thread& thread = current();
  const auto newest = static_cast<unsigned>(at.stores.size() - 1);
  std::uint16_t& oldest = thread.knowledge.oldest_readable[at.number];
  unsigned age = 0;
  if (options_.old_values && running_ != kOutside && !failed_) age = choose(newest - oldest + 1);
  thread.read |= std::uint64_t{1} << at.number;
  thread.read_old |= age > 0;
  oldest = static_cast<std::uint16_t>(newest - age);
  const Location::Store& store = at.stores[newest - age];
  note(at, operation, store.value);
  if (acquires(operation.order)) thread.knowledge.join(store.released);
  return store.value;
}

void Execution::store(Location& at, std::uint64_t value, std::memory_order order) {
  Operation operation{at.number, Operation::Kind::store, order, value};
  begin(operation, at);
  note(at, operation, operation.operand);
  append(at, operation.operand, {}, operation.order);
}

std::uint64_t Execution::modify(Location& at, Operation::Kind kind, std::uint64_t operand,
                                std::memory_order order) {
  Operation operation{at.number, kind, order, operand};
  begin(operation, at);
  const Location::Store before = at.stores.back();
  current().read |= std::uint64_t{1} << at.number;
  if (acquires(operation.order)) current().knowledge.join(before.released);
  std::uint64_t after = 0;
  switch (kind) {
    case Operation::Kind::fetch_add:
      after = before.value + operation.operand;
      break;
    case Operation::Kind::fetch_or:
      after = before.value | operation.operand;
      break;
    case Operation::Kind::fetch_and:
      after = before.value & operation.operand;
      break;
    default:
      stop("this is no read-modify-write");
  }
  note(at, operation, before.value);
  append(at, after, before.released, operation.order);
  return before.value;
}

bool Execution::compare_exchange(Location& at, std::uint64_t& expected, std::uint64_t desired,
                                 std::memory_order order) {
  Operation operation{at.number, Operation::Kind::compare_exchange, order, desired};
  begin(operation, at);
  const Location::Store before = at.stores.back();
  current().read |= std::uint64_t{1} << at.number;
  if (acquires(operation.order)) current().knowledge.join(before.released);
  note(at, operation, before.value);
  if (before.value == expected) {
    append(at, operation.operand, before.released, operation.order);
    return true;
  }
  current().knowledge.oldest_readable[at.number] = static_cast<std::uint16_t>(at.stores.size() - 1);
  expected = before.value;
  return false;
}

/// `continued`: what the release sequence that this store continues has released already.
void Execution::append(Location& at, std::uint64_t value, const Knowledge& continued,
                       std::memory_order order) {
  Knowledge& known = current().knowledge;
  known.oldest_readable[at.number] = static_cast<std::uint16_t>(at.stores.size());
  at.stores.push_back({value, continued});
  at.written[running_] = steps_;
  if (!releases(order)) return;
  at.stores.back().released.join(known);
  ++known.clock[running_];
}

void Execution::note(const Location& at, const Operation& operation, std::uint64_t value) {
  if (!traced_ || scenario_ == nullptr || running_ == kOutside) return;
  trace_ += "  thread " + std::to_string(running_) + ": " + name_of(operation.kind) + " " +
            scenario_->atomic_name(at.number);
  if (operation.kind == Operation::Kind::load) {
    trace_ += " = " + std::to_string(value);
    if (value != at.stores.back().value) trace_ += " (an old value)";
  } else {
    trace_ += ", " + std::to_string(operation.operand);
    if (operation.kind != Operation::Kind::store) trace_ += " (was " + std::to_string(value) + ")";
  }
  trace_ += ", " + name_of(operation.order) + "\n";
}

}  // namespace orrery::explore
