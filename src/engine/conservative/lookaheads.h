// SPDX-License-Identifier: Apache-2.0
//
// The smallest delays between parts of the LPs, in ticks: directly, by one event, and by any chain
// of events, which are shortest paths (Floyd: Algorithm 97: shortest path. CACM 5(6), 1962). From a
// part to itself the chain is a cycle through another part. Promises between parts bound all parts
// by these paths (as the distances between objects in Ayani: A parallel simulation scheme based on
// distances between objects, SCS Multiconference on Distributed Simulation 1989).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace orrery::conservative {

/// Later than any time; as a delay: no event.
inline constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

/// Sum of a time and a delay, neither negative.
constexpr std::int64_t after(std::int64_t ticks, std::int64_t delay) {
  return ticks > kNever - delay ? kNever : ticks + delay;
}

class Lookaheads {
 public:
  /// `otherwise`: delay of pairs for which `shorten` is never called; kNever: they do not
  /// communicate.
  explicit Lookaheads(unsigned parts, std::int64_t otherwise)
      : parts_(parts), direct_(std::size_t{parts} * parts, otherwise) {}

  unsigned parts() const { return parts_; }
  /// An event of part `from` can reach part `to` after `delay`.
  void shorten(unsigned from, unsigned to, std::int64_t delay) {
    std::int64_t& known = direct_[at(from, to)];
    known = std::min(known, delay);
  }
  /// No event goes to this part or comes from it.
  void exclude(unsigned part) {
    for (unsigned other = 0; other < parts_; ++other)
      direct_[at(part, other)] = direct_[at(other, part)] = kNever;
  }
  std::int64_t direct(unsigned from, unsigned to) const { return direct_[at(from, to)]; }

  /// Computes path(). Call after all calls of `shorten` and `exclude`.
  void find_paths() {
    path_ = direct_;
    for (unsigned i = 0; i < parts_; ++i) path_[at(i, i)] = kNever;
    for (unsigned via = 0; via < parts_; ++via)
      for (unsigned from = 0; from < parts_; ++from) {
        const std::int64_t first = path_[at(from, via)];
        if (first == kNever || from == via) continue;
        for (unsigned to = 0; to < parts_; ++to) {
          if (to == via) continue;
          std::int64_t& known = path_[at(from, to)];
          known = std::min(known, after(first, path_[at(via, to)]));
        }
      }
  }
  /// The smallest direct delay from a part to any other part.
  std::int64_t shortest_from(unsigned from) const {
    std::int64_t shortest = kNever;
    for (unsigned to = 0; to < parts_; ++to)
      if (to != from) shortest = std::min(shortest, direct(from, to));
    return shortest;
  }
  std::int64_t path(unsigned from, unsigned to) const { return path_[at(from, to)]; }

 private:
  std::size_t at(unsigned from, unsigned to) const { return std::size_t{from} * parts_ + to; }

  unsigned parts_;
  std::vector<std::int64_t> direct_, path_;
};

}  // namespace orrery::conservative
