// SPDX-License-Identifier: Apache-2.0
//
// Patterns of allocation, each one warm and repeated: nanoseconds for a pair of malloc and free.
// Linked twice, with run_in_heap of lp_heap.cpp and of system_heap.cpp; bench/memory/run.py
// compares them. Called with a name it runs this pattern alone (for instruction counts), with
// --list it names them.
#include "memory/patterns.h"

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

// The compiler may elide pairs of malloc and free; a pointer that went through here is safe from
// it.
template <class T>
T* opaque(T* pointer) {
  asm volatile("" : "+r"(pointer) : : "memory");
  return pointer;
}

std::uint64_t random_state = 1;
std::uint32_t draw() {
  random_state = random_state * 6364136223846793005u + 1442695040888963407u;
  return static_cast<std::uint32_t>(random_state >> 33);
}

// Sizes as models have them: most are small, few are large.
constexpr std::uint16_t kSizes[32] = {16, 24, 32,  32,  40, 48,  48,  56, 64,  64,  72,
                                      80, 96, 104, 128, 16, 24,  32,  40, 48,  160, 192,
                                      24, 32, 256, 320, 16, 512, 800, 64, 128, 1024};
constexpr unsigned kDraws = 4096;
std::uint16_t sizes[kDraws];
std::uint16_t places[kDraws];

void prepare_draws(unsigned live) {
  for (unsigned i = 0; i < kDraws; ++i) {
    sizes[i] = kSizes[draw() % 32];
    places[i] = static_cast<std::uint16_t>(draw() % live);
  }
}

void same_size(std::uint64_t pairs) {
  for (std::uint64_t i = 0; i < pairs; ++i) std::free(opaque(std::malloc(48)));
}

void mixed_pairs(std::uint64_t pairs) {
  for (std::uint64_t i = 0; i < pairs; ++i) std::free(opaque(std::malloc(sizes[i % kDraws])));
}

void lifo(std::uint64_t pairs) {
  void* live[16];
  for (std::uint64_t i = 0; i < pairs; i += 16) {
    for (unsigned k = 0; k < 16; ++k) live[k] = opaque(std::malloc(sizes[(i + k) % kDraws]));
    for (unsigned k = 16; k-- > 0;) std::free(live[k]);
  }
}

void fifo(std::uint64_t pairs) {
  void* live[16];
  for (std::uint64_t i = 0; i < pairs; i += 16) {
    for (unsigned k = 0; k < 16; ++k) live[k] = opaque(std::malloc(sizes[(i + k) % kDraws]));
    for (unsigned k = 0; k < 16; ++k) std::free(live[k]);
  }
}

/// A live set of N objects, of which a random one is replaced at each step.
template <unsigned N>
void live_set(std::uint64_t pairs) {
  static void* live[N];
  for (unsigned i = 0; i < N; ++i) live[i] = std::malloc(sizes[i % kDraws]);
  for (std::uint64_t i = 0; i < pairs; ++i) {
    void*& place = live[places[i % kDraws]];
    std::free(place);
    place = opaque(std::malloc(sizes[(i * 7) % kDraws]));
  }
  for (void* pointer : live) std::free(pointer);
}

/// Seven allocations a vector: 16 bytes to 1 KiB.
void vector_growth(std::uint64_t pairs) {
  for (std::uint64_t i = 0; i < pairs; i += 7) {
    std::vector<std::uint64_t> numbers;
    numbers.reserve(2);
    for (std::uint64_t k = 0; k < 128; ++k) numbers.push_back(k);
    opaque(numbers.data());
  }
}

void map_nodes(std::uint64_t pairs) {
  std::map<std::uint32_t, std::uint64_t> map;
  for (std::uint32_t i = 0; i < 100; ++i) map.emplace(i * 7919 % 1009, i);
  for (std::uint64_t i = 0; i < pairs; ++i) {
    map.erase(map.begin());
    map.emplace(1009 + static_cast<std::uint32_t>(i), i);
  }
}

struct Pattern {
  const char* name;
  void (*run)(std::uint64_t pairs);
  unsigned live;
};
constexpr Pattern kPatterns[] = {{"same_size", same_size, 1},
                                 {"mixed_pairs", mixed_pairs, 1},
                                 {"lifo_16", lifo, 1},
                                 {"fifo_16", fifo, 1},
                                 {"live_10", live_set<10>, 10},
                                 {"live_100", live_set<100>, 100},
                                 {"live_1000", live_set<1000>, 1000},
                                 {"vector_growth", vector_growth, 1},
                                 {"map_nodes", map_nodes, 1}};

struct Job {
  const Pattern* pattern;
  std::uint64_t pairs;
  unsigned rounds;
  double best_ns;
};

void measure(void* argument) {
  Job& job = *static_cast<Job*>(argument);
  random_state = 1;
  prepare_draws(job.pattern->live);
  job.pattern->run(job.pairs / 16 + 1);  // warm
  for (unsigned round = 0; round < job.rounds; ++round) {
    const auto start = Clock::now();
    job.pattern->run(job.pairs);
    const std::chrono::duration<double, std::nano> spent = Clock::now() - start;
    const double each = spent.count() / static_cast<double>(job.pairs);
    if (round == 0 || each < job.best_ns) job.best_ns = each;
  }
}

}  // namespace

int main(int count, char** words) {
  const std::string wanted = count > 1 ? words[1] : "";
  const std::uint64_t pairs = count > 2 ? std::strtoull(words[2], nullptr, 10) : 1'000'000;
  const unsigned rounds = count > 3 ? static_cast<unsigned>(std::atoi(words[3])) : 5;
  for (const Pattern& pattern : kPatterns) {
    if (wanted == "--list") std::printf("%s\n", pattern.name);
    if (wanted == "--list" || (!wanted.empty() && wanted != "all" && wanted != pattern.name))
      continue;
    Job job{&pattern, pairs, rounds, 0};
    orrery::bench::run_in_heap(measure, &job);
    std::printf("%s %.2f\n", pattern.name, job.best_ns);
  }
  return 0;
}
