// SPDX-License-Identifier: Apache-2.0
//
// The choices of a run, by which it can be repeated, and the way to the next run: depth first.
#pragma once

#include <cstddef>
#include <vector>

namespace orrery::explore {

/// For mistakes in the use of the explorer.
[[noreturn]] void stop(const char* sentence);

class Path {
 public:
  /// Of `count` alternatives; the first is taken where the path is new.
  unsigned choose(unsigned count);
  void rewind() { depth_ = 0; }
  /// To the next path, depth first; false if there is none.
  bool advance();
  void set(const std::vector<unsigned>& choices);
  std::vector<unsigned> choices() const;

 private:
  struct Choice {
    unsigned taken;
    unsigned count;  ///< 0: given from outside, not known
  };
  std::vector<Choice> path_;
  std::size_t depth_ = 0;
};

}  // namespace orrery::explore
