// SPDX-License-Identifier: Apache-2.0
//
// How long a choice stands before it is compared again: twice as long each time, since a choice
// that was right for long stays right, and a comparison costs something.
#pragma once

#include <algorithm>
#include <utility>

namespace orrery::tuning {

/// `Length`: seconds, cycles or events.
template <class Length>
class Rest {
 public:
  constexpr Rest(Length first, Length longest) : first_(first), longest_(longest), next_(first) {}

  /// Begins a rest; returns its length.
  Length take() { return std::exchange(next_, std::min(2 * next_, longest_)); }
  /// The next rest is the first again.
  void reset() { next_ = first_; }
  /// The next rest is `divisor` times shorter, but not shorter than the first.
  void shorten(Length divisor) { next_ = std::max(next_ / divisor, first_); }

 private:
  Length first_, longest_, next_;
};

}  // namespace orrery::tuning
