// SPDX-License-Identifier: Apache-2.0
//
// The pending event sets under the hold model: take the lowest event, move it into the future by a
// random increment, put it back; the number of events stays the same. Prints nanoseconds of
// processor time a hold for every kind, size and distribution of increments.
//
//   pending_bench [--rounds N] [--events N,N,...] [--distribution NAME]
//
// All kinds run in turn in each round, so that a disturbance of the machine hits them alike; shown
// are the median of the rounds and, in brackets, the lowest. The loop without a set (reading and
// writing the events of a ring) is the column "floor": what is above it is the set's.
//
// The hold model: Jones, "An empirical comparison of priority-queue and event-set implementations",
// Communications of the ACM 29 (1986).
#include <time.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/median.h"
#include "pending/dary_heap.h"
#include "pending/radix_heap.h"

namespace orrery::pending {
namespace {

struct BenchEvent : EventHeader {
  char payload[32];  // an event is a cache line
};

/// Increments are drawn from a table: a logarithm for each would cost as much as the sets do.
struct Increments {
  std::string_view name;
  std::string_view meaning;
  std::int64_t jitter_mask;  // low bits added at random, 0 where ties are wanted
  std::function<std::int64_t(std::mt19937_64&)> draw;
};

constexpr double kMean = 1e9;
constexpr std::int64_t kJitter = (1 << 20) - 1;

double uniform(std::mt19937_64& random) {
  return (static_cast<double>(random() >> 11) + 0.5) * 0x1p-53;
}
std::int64_t exponential(std::mt19937_64& random) {
  return static_cast<std::int64_t>(-std::log(uniform(random)) * kMean);
}

std::vector<Increments> distributions() {
  using Random = std::mt19937_64&;
  return {
      {"exponential", "mean 1e9 ticks", kJitter, exponential},
      {"uniform", "0 to 2e9", kJitter,
       [](Random r) { return static_cast<std::int64_t>(2 * kMean * uniform(r)); }},
      {"bimodal", "nine in ten about 1e8, one about 1e10", kJitter,
       [](Random r) { return exponential(r) / 10 * (uniform(r) < 0.9 ? 1 : 100); }},
      {"pareto", "tail exponent 1.1, up to 1e13", kJitter,
       [](Random r) {
         return static_cast<std::int64_t>(std::min(1e13, 1e8 * std::pow(uniform(r), -1 / 1.1)));
       }},
      {"all scales", "2^0 to 2^40, each power as likely", kJitter >> 20,
       [](Random r) { return static_cast<std::int64_t>(std::exp2(40 * uniform(r))); }},
      {"constant", "1e9 and no jitter: a queue", 0,
       [](Random) { return static_cast<std::int64_t>(kMean); }},
      {"ties", "1e9 times 0, 1, 2 or 3: crowds at few instants", 0,
       [](Random r) { return static_cast<std::int64_t>(kMean) * static_cast<int>(r() % 4); }},
      {"stragglers", "exponential, one in 16 goes back by up to 1e7", 0,
       [](Random r) {
         return r() % 16 == 0 ? -static_cast<std::int64_t>(uniform(r) * 1e7) : exponential(r);
       }},
  };
}

/// The column "floor".
class Ring {
 public:
  void push(BenchEvent* event) {
    if (size_ == events_.size()) events_.resize(2 * size_ + 16);
    events_[tail_] = event;
    tail_ = tail_ + 1 == events_.size() ? 0 : tail_ + 1;
    ++size_;
  }
  BenchEvent* pop() {
    --size_;
    return events_[std::exchange(head_, head_ + 1 == events_.size() ? 0 : head_ + 1)];
  }
  std::size_t bytes() const { return 0; }

 private:
  std::vector<BenchEvent*> events_ = std::vector<BenchEvent*>(1 << 20);
  std::size_t head_ = 0, tail_ = 0, size_ = 0;
};

/// One set, its events, and the state of its loop between rounds.
template <class Set>
class Hold {
 public:
  Hold(std::size_t event_count, const Increments& increments)
      : events_(new BenchEvent[event_count]), jitter_mask_(increments.jitter_mask) {
    std::mt19937_64 random(1);
    for (std::int64_t& ticks : table_) ticks = increments.draw(random);
    for (std::size_t i = 0; i < event_count; ++i) {
      schedule(&events_[i], Time::from_ticks(exponential(random)));
    }
  }

  /// Returns nanoseconds a hold.
  double run(std::size_t holds) {
    const double start_ns = thread_ns();
    for (std::size_t i = 0; i < holds; ++i) {
      BenchEvent* const event = set_.pop();
      schedule(event, event->time() + Duration::from_ticks(next_increment()));
    }
    return (thread_ns() - start_ns) / static_cast<double>(holds);
  }

  std::size_t bytes() const { return set_.bytes(); }

 private:
  /// Processor time of this thread, so that others on the machine count only through the caches.
  static double thread_ns() {
    timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
  }

  void schedule(BenchEvent* event, Time time) {
    static_cast<Key&>(*event) = Key(time, 0, 0, sequence_++);
    set_.push(event);
  }

  std::int64_t next_increment() {
    random_ ^= random_ << 13;  // xorshift: Marsaglia, Journal of Statistical Software 8 (2003)
    random_ ^= random_ >> 7;
    random_ ^= random_ << 17;
    return table_[random_ % table_.size()] +
           (static_cast<std::int64_t>(random_ >> 32) & jitter_mask_);
  }

  std::unique_ptr<BenchEvent[]> events_;
  Set set_;
  std::array<std::int64_t, 2048> table_;
  const std::int64_t jitter_mask_;
  std::uint64_t sequence_ = 0;
  std::uint64_t random_ = 88172645463325252;
};

struct Column {
  std::string_view name;
  std::function<double(std::size_t)> run;
  std::function<std::size_t()> bytes;
  std::vector<double> ns{};

  double median() { return median_of(ns); }
  double lowest() const { return *std::min_element(ns.begin(), ns.end()); }
};

template <class Set>
Column column(std::string_view name, std::size_t events, const Increments& increments) {
  auto hold = std::make_shared<Hold<Set>>(events, increments);
  return {name, [hold](std::size_t holds) { return hold->run(holds); },
          [hold] { return hold->bytes(); }};
}

std::vector<Column> columns(std::size_t events, const Increments& increments) {
  std::vector<Column> all{column<Ring>("floor", events, increments)};
  all.push_back(column<RadixHeap<BenchEvent>>("radix", events, increments));
  all.push_back(column<DaryHeap<BenchEvent>>("heap", events, increments));
  return all;
}

void print_row(std::size_t events, const Increments& increments, std::size_t rounds) {
  std::vector<Column> all = columns(events, increments);
  const std::size_t holds = std::max<std::size_t>(200'000, events);
  for (Column& c : all) c.run(3 * holds);  // to the steady state
  for (std::size_t round = 0; round < rounds; ++round) {
    for (Column& c : all) c.ns.push_back(c.run(holds));
  }
  std::printf("%-12s %9zu", increments.name.data(), events);
  for (Column& c : all) std::printf("  %7.1f [%6.1f]", c.median(), c.lowest());
  std::printf("  ");
  for (Column& c : all) {
    if (c.bytes() != 0)
      std::printf("  %8.1f", static_cast<double>(c.bytes()) / static_cast<double>(events));
  }
  std::printf("\n");
  std::fflush(stdout);
}

void print_head() {
  std::printf("ns a hold: median [lowest]; then bytes an event\n%-12s %9s", "increments", "events");
  std::printf("  %16s  %16s  %16s    %8s  %8s\n", "floor", "radix", "heap", "radix", "heap");
}

struct Options {
  std::size_t rounds = 15;
  std::vector<std::size_t> events{64, 8192, 100'000, 1'000'000};
  std::string_view distribution;
};

std::vector<std::size_t> numbers(std::string_view text) {
  std::vector<std::size_t> all;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find(',', start), text.size());
    all.push_back(std::strtoull(std::string(text.substr(start, end - start)).c_str(), nullptr, 10));
    start = end + 1;
  }
  return all;
}

bool parse(int count, char** words, Options& options) {
  for (int i = 1; i + 1 < count; i += 2) {
    const std::string_view word = words[i];
    const std::string_view value = words[i + 1];
    if (word == "--rounds") {
      options.rounds = numbers(value).at(0);
    } else if (word == "--events") {
      options.events = numbers(value);
    } else if (word == "--distribution") {
      options.distribution = value;
    } else {
      return false;
    }
  }
  return count % 2 == 1 && options.rounds > 0 &&
         std::find(options.events.begin(), options.events.end(), 0) == options.events.end();
}

int run(int count, char** words) {
  Options options;
  if (!parse(count, words, options)) {
    std::fprintf(stderr,
                 "usage: pending_bench [--rounds N] [--events N,N,...] [--distribution NAME]\n");
    return 2;
  }
  print_head();
  for (const Increments& increments : distributions()) {
    if (!options.distribution.empty() && options.distribution != increments.name) continue;
    for (const std::size_t events : options.events) print_row(events, increments, options.rounds);
  }
  return 0;
}

}  // namespace
}  // namespace orrery::pending

int main(int count, char** words) {
  return orrery::pending::run(count, words);
}
