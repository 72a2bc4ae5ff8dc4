// SPDX-License-Identifier: Apache-2.0
//
// One run of a scenario: who goes on, what an atomic's operation does, and what happened before
// what. Behind explorer.h, atomics.h and cell.h.
#pragma once

#include <array>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "explore/explorer.h"
#include "explore/fiber.h"
#include "explore/knowledge.h"
#include "explore/path.h"

namespace orrery::explore {

/// What exists in a run and can be freed: atomics and cells.
class Tracked {
 public:
  Tracked();
  ~Tracked();
  Tracked(const Tracked&) = delete;
  Tracked& operator=(const Tracked&) = delete;

  bool freed = false;
  Clock accesses{};  ///< of each thread, the last one

 private:
  friend class Execution;
  std::size_t position_;  ///< in the list of all
};

/// An atomic: all values that it had, oldest first.
struct Location : Tracked {
  struct Store {
    std::uint64_t value;
    Knowledge released;  ///< for whoever acquires it
  };
  explicit Location(std::uint64_t initial);
  ~Location();
  const unsigned number;
  std::vector<Store> stores;
  std::array<std::uint64_t, kMostThreads + 1> written{};  ///< by thread, step of its last store
};

class Execution {
 public:
  Execution(const Options& options, const MakeScenario& make);
  ~Execution();
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;

  /// The one that is at work.
  static Execution& active();

  /// Runs the schedule that `path` leads to. `cut`: set if the bound forbade something.
  void run(Path& path, unsigned bound, bool& cut);
  bool failed() const { return failed_; }
  const std::string& what() const { return what_; }
  void keep_trace() { traced_ = true; }
  const std::string& trace() const { return trace_; }

  // For atomics.
  std::uint64_t load(Location& at, std::memory_order order);
  void store(Location& at, std::uint64_t value, std::memory_order order);
  std::uint64_t modify(Location& at, Operation::Kind kind, std::uint64_t operand,
                       std::memory_order order);
  bool compare_exchange(Location& at, std::uint64_t& expected, std::uint64_t desired,
                        std::memory_order order);
  unsigned add(Location* location);
  void remove(const Location& location) { locations_[location.number] = nullptr; }
  void add(Tracked* tracked, std::size_t& position);
  void remove(std::size_t position);

  // For cells and scenarios.
  /// The thread whose turn it is, or kOutside.
  unsigned running() const { return running_; }
  void access(Tracked& at, const Clock& must_precede, const char* what);
  void free(const void* begin, std::size_t bytes);
  void wait_for_change();
  [[noreturn]] void fail(const std::string& what);

 private:
  struct Abandoned {};
  struct Thread {
    std::unique_ptr<Fiber> fiber;
    bool started = false, ended = true, waiting = false;
    std::uint64_t read = 0;   ///< set of atomics read since it waited last
    std::uint64_t since = 0;  ///< step at which that was
    bool read_old = false;    ///< and not the newest value
    bool chosen = false;      ///< just now and without cost: its next operation is no choice again
    Knowledge knowledge;
  };

  /// Threads that may go on, the one whose turn it is first.
  struct Candidates {
    std::array<unsigned, kMostThreads> list;
    unsigned count = 0;
  };

  void live(unsigned thread);
  void begin_run();
  void finish_scenario();
  void abandon_all();
  bool all_ended() const;
  bool may_go_on(unsigned thread) const;
  Candidates from(unsigned first) const;
  /// Another thread may go on here.
  void point();
  void hand_over(const Candidates& candidates);
  void resume(unsigned thread);
  unsigned choose(unsigned count);
  void begin(Operation& operation, Location& at);
  void append(Location& at, std::uint64_t value, const Knowledge& continued,
              std::memory_order order);
  void note(const Location& at, const Operation& operation, std::uint64_t value);
  Thread& current() { return threads_[running_]; }

  const Options& options_;
  const MakeScenario& make_;
  std::unique_ptr<Scenario> scenario_;
  std::array<Thread, kMostThreads + 1> threads_;  ///< the last is outside
  unsigned running_ = kOutside;
  std::vector<Tracked*> tracked_;
  std::vector<Location*> locations_;  ///< by number; nullptr where it is gone
  std::uint64_t steps_ = 0;
  Path* path_ = nullptr;
  unsigned left_ = 0;  ///< deviations
  bool cut_ = false, failed_ = false, traced_ = false;
  std::string what_, trace_;
};

}  // namespace orrery::explore
