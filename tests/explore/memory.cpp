// SPDX-License-Identifier: Apache-2.0
//
// The memory that the threads of a scenario share: what an atomic's operation does, and what has to
// have happened before an access to plain data.
#include <functional>

#include "explore/execution.h"

namespace orrery::explore {

namespace {

constexpr std::uint64_t kMostSteps = 20'000;

bool acquires(std::memory_order order) {
  return order == std::memory_order_acquire || order == std::memory_order_acq_rel ||
         order == std::memory_order_seq_cst;
}
bool releases(std::memory_order order) {
  return order == std::memory_order_release || order == std::memory_order_acq_rel ||
         order == std::memory_order_seq_cst;
}

}  // namespace

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
