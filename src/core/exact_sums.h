// SPDX-License-Identifier: Apache-2.0
//
// Exact sums of doubles, one for each place, whose value does not depend on the order of the terms
// or on the number of threads that added them. A sum is an integer in units of the smallest double,
// kept as chunks of 32 bits in words of 64, so that a term is three additions and carries wait
// until 2^30 terms were added (the small superaccumulator of Neal: Fast exact summation using small
// and large superaccumulators, arXiv:1505.05571, 2015). All places share one window of chunks,
// which grows as the values need: values of one metric are of similar size, so a place takes some
// 40 bytes instead of 540.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace orrery {

class ExactSums {
 public:
  /// Called in the mode of a handler. New places begin with 0.
  void add(std::size_t place, double value);
  void merge(const ExactSums& other);
  std::size_t places() const { return specials_.size(); }
  /// The sum, rounded to the nearest double once.
  double value(std::size_t place) const;
  std::size_t bytes() const {
    return chunks_.capacity() * sizeof(std::int64_t) + specials_.capacity();
  }

  // For transfer to another process of the same build.
  void write(std::vector<std::uint64_t>& words) const;
  /// Adds sums that write() has written; returns the words that follow. Throws std::logic_error if
  /// the words are malformed.
  std::span<const std::uint64_t> merge_words(std::span<const std::uint64_t> words);

 private:
  static constexpr std::uint32_t kTermsWithoutCarry = 1u << 30;
  /// Values that are not finite, by place.
  enum Special : std::uint8_t { kPositive = 1, kNegative = 2, kUndefined = 4 };

  void reach(std::size_t place, unsigned first, unsigned end);
  void carry();
  std::int64_t* row(std::size_t place) { return chunks_.data() + place * width_; }
  const std::int64_t* row(std::size_t place) const { return chunks_.data() + place * width_; }

  unsigned first_ = 0, width_ = 0;    ///< the window: its chunks within the range of doubles
  std::uint32_t terms_ = 0;           ///< terms of the fullest place since the last carry, or more
  std::vector<std::int64_t> chunks_;  ///< by place
  std::vector<std::uint8_t> specials_;  ///< by place
};

}  // namespace orrery
