// SPDX-License-Identifier: Apache-2.0
//
// Sums of doubles that are exact, one for each place, so that they come out the same in whatever
// order the terms were added and by however many. A sum is an integer in units of the smallest
// double, kept as chunks of 32 bits in words of 64, so that a term is three additions and carries
// wait until 2^30 terms were added (the small superaccumulator of Neal: Fast exact summation using
// small and large superaccumulators, arXiv:1505.05571, 2015). All places have the same window of
// chunks, which grows to what the values need: those of one metric are of similar size, so a place
// takes some 40 bytes instead of 540.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace orrery {

class ExactSums {
 public:
  /// In the mode of a handler. Places that were not there begin with 0.
  void add(std::size_t place, double value);
  void merge(const ExactSums& other);
  std::size_t places() const { return specials_.size(); }
  /// The sum, rounded to the nearest double once.
  double value(std::size_t place) const;
  std::size_t bytes() const {
    return chunks_.capacity() * sizeof(std::int64_t) + specials_.capacity();
  }

  // For a journey to another process of the same build.
  void write(std::vector<std::uint64_t>& words) const;
  /// Adds what was written; returns what follows. Throws std::logic_error for what was not.
  std::span<const std::uint64_t> merge_words(std::span<const std::uint64_t> words);

 private:
  static constexpr std::uint32_t kTermsWithoutCarry = 1u << 30;
  /// Values that are no finite numbers, by place.
  enum Special : std::uint8_t { kPositive = 1, kNegative = 2, kUndefined = 4 };

  void reach(std::size_t place, unsigned first, unsigned end);
  void carry();
  std::int64_t* row(std::size_t place) { return chunks_.data() + place * width_; }
  const std::int64_t* row(std::size_t place) const { return chunks_.data() + place * width_; }

  unsigned first_ = 0, width_ = 0;    ///< the window: chunks of the whole range
  std::uint32_t terms_ = 0;           ///< since the last carry, of the place with the most or more
  std::vector<std::int64_t> chunks_;  ///< by place
  std::vector<std::uint8_t> specials_;  ///< by place
};

}  // namespace orrery
