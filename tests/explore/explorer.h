// SPDX-License-Identifier: Apache-2.0
//
// Runs a small concurrent scenario in every schedule there is, up to a bound. The production
// headers take their atomics from a policy (transport/atomics.h); here they get explore::Atomics
// (explore/atomics.h), whose every operation is a point at which another thread may go on. The
// threads of a scenario are fibers, one of which runs at a time, so a run is a list of choices: it
// can be repeated, printed, and changed in its last choice to get the next one (depth first). Loom
// for Rust is the model for testing through substituted atomics.
//
// The bound is on deviations, fewest first: the thread that runs goes on until it waits or ends,
// then the next in the circle; each time another one goes on instead costs one, and so does each
// atomic load that does not get the newest value. Most errors need very few (Musuvathi and Qadeer:
// Iterative context bounding for systematic testing of multithreaded programs, PLDI 2007; Emmi,
// Qadeer and Rakamaric: Delay-bounded scheduling, POPL 2011), and the schedules with at most a few
// grow with a power of the length of a run, where all of them grow exponentially. Small scenarios
// are run exhaustively: with a bound that forbids nothing.
//
// What is found: failed requirements of the scenario, threads that wait for each other for ever,
// data races on plain data in cells (explore/cell.h), use of what was freed. Races and freed memory
// are judged by what happens before what according to the memory orders given, not by what this run
// did: a `relaxed` that had to be a `release` is found even if every value is the newest.
//
// What is not explored: C++'s memory model is wider. A store is the last in its atomic's order of
// stores at once, so stores to two atomics never end up in orders that contradict the schedule;
// loads never get what is stored later (no load buffering); a read-modify-write, also a
// compare-exchange that fails, gets the newest value. `seq_cst` counts as acquire and release,
// which overlooks nothing but may report what cannot happen. There are no fences and no consume. A
// thread that only waits must say so (wait_for_change), or a run would not end.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace orrery::explore {

/// An operation on an atomic, before it is carried out: a mutation may change order and operand.
struct Operation {
  enum class Kind { load, store, fetch_add, fetch_or, fetch_and, compare_exchange };
  unsigned atomic;  ///< number, in the order in which the scenario made them
  Kind kind;
  std::memory_order order;
  std::uint64_t operand;  ///< of all but load
};
std::string name_of(Operation::Kind kind);
std::string name_of(std::memory_order order);
using Mutation = std::function<void(Operation&)>;

/// Made anew for every run. Its threads may share atomics and cells only.
class Scenario {
 public:
  virtual ~Scenario() = default;
  virtual void run(unsigned thread) = 0;
  /// When all threads have ended.
  virtual void finish() {}
  virtual std::string atomic_name(unsigned number) const;
};
using MakeScenario = std::function<std::unique_ptr<Scenario>()>;

struct Options {
  unsigned threads = 2;
  unsigned deviations = 3;
  bool old_values = true;  ///< whether loads may get any but the newest value
  std::uint64_t most_schedules = 4'000'000;
  Mutation mutation = {};  ///< an error to be planted
};

struct Failure {
  std::string what;
  std::vector<unsigned> choices;  ///< for `replay`
  std::string trace;              ///< the operations, a line each

  std::string text() const;
};

struct Outcome {
  std::uint64_t schedules = 0;
  unsigned deviations = 0;    ///< the last bound
  bool within_bound = false;  ///< every schedule up to that bound was run
  bool exhaustive = false;    ///< and there are no others
  std::optional<Failure> failure;
};

Outcome explore(const Options& options, const MakeScenario& make);
/// Runs one schedule; what goes beyond `choices` is without deviations.
Outcome replay(const Options& options, const MakeScenario& make,
               const std::vector<unsigned>& choices);

// For scenarios.

/// Ends the run as a failure unless `holds`.
void require(bool holds, const std::string& what);
/// Called by a thread that found nothing to do: it goes on when another has written an atomic that
/// it has read since it called this last.
void wait_for_change();

}  // namespace orrery::explore
