// SPDX-License-Identifier: Apache-2.0
//
// Histograms with buckets whose width is a fixed share of the value, so that quantiles have a fixed
// relative error for any range of values. Counts are integers, whose sum does not depend on the
// order, so every worker may count for itself.
//
// The bucket of a double is its sign, exponent and first seven bits of the fraction, rounded to
// nearest: two integer operations on its bits, the same on every machine, where DDSketch (Masson,
// Rim, Lee: VLDB 2019) takes a logarithm. HdrHistogram (Tene) does the same with integers and a
// range that must be known in advance; this class has as many buckets as the values need. A value
// is reported as the middle of its bucket, so its error is at most half a bucket, 2^-8 of itself,
// and whole numbers up to 256 are exact. Values below the smallest normal double, 2.2e-308, count
// as 0.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace orrery {

class Histogram {
 public:
  static constexpr double kRelativeError = 1.0 / 256;

  void add(double value) {
    const auto bits = std::bit_cast<std::uint64_t>(value);
    const std::uint64_t magnitude = bits & ~kSign;
    if (magnitude < kSmallestNormal) {
      ++zeros_;
    } else if (magnitude > kInfinity) {
      ++undefined_;
    } else {
      Side& side = bits == magnitude ? positive_ : negative_;
      side.add(static_cast<std::uint32_t>((magnitude + kHalf) >> kShift), 1);
    }
  }
  void merge(const Histogram& other);

  /// Number of values, without NaN.
  std::uint64_t count() const;
  /// Number of NaNs.
  std::uint64_t undefined() const { return undefined_; }
  /// The smallest value that at least the share `q` of all values does not exceed, within the
  /// error; 0 if there are no values.
  double quantile(double q) const;
  /// visit(value, count) for each bucket that is not empty, from the smallest value on.
  template <class Visit>
  void for_each(Visit&& visit) const {
    negative_.for_each_down([&](std::uint32_t bucket, std::uint64_t n) {
      visit(-middle(bucket), n);
      return true;
    });
    if (zeros_ > 0) visit(0.0, zeros_);
    positive_.for_each_up([&](std::uint32_t bucket, std::uint64_t n) {
      visit(middle(bucket), n);
      return true;
    });
  }
  std::size_t bytes() const {
    return (positive_.counts.capacity() + negative_.counts.capacity()) * sizeof(std::uint64_t);
  }

  // For transfer to another process of the same build.
  void write(std::vector<std::uint64_t>& words) const;
  /// Adds a histogram that write() has written; returns the words that follow. Throws
  /// std::logic_error if the words are malformed.
  std::span<const std::uint64_t> merge_words(std::span<const std::uint64_t> words);

 private:
  static constexpr unsigned kFractionBits = 7, kShift = 52 - kFractionBits;
  static constexpr std::uint32_t kOctave = 1u << kFractionBits;  // buckets from x to 2 x
  static constexpr std::uint64_t kHalf = std::uint64_t{1} << (kShift - 1);
  static constexpr std::uint64_t kSign = std::uint64_t{1} << 63;
  static constexpr std::uint64_t kSmallestNormal = std::uint64_t{1} << 52;
  static constexpr std::uint64_t kInfinity = std::uint64_t{0x7ff} << 52;

  static double middle(std::uint32_t bucket) {
    return std::bit_cast<double>(std::uint64_t{bucket} << kShift);
  }

  /// Buckets of one sign: whole octaves from the lowest to the highest that occurred.
  struct Side {
    std::uint32_t first = 0;
    std::vector<std::uint64_t> counts;

    void add(std::uint32_t bucket, std::uint64_t n) {
      if (bucket - first >= counts.size()) [[unlikely]]
        reach(bucket);
      counts[bucket - first] += n;
    }
    void reach(std::uint32_t bucket);
    void merge(const Side& other);
    template <class Visit>
    bool for_each_up(Visit&& visit) const {
      for (std::size_t i = 0; i < counts.size(); ++i)
        if (counts[i] > 0 && !visit(first + static_cast<std::uint32_t>(i), counts[i])) return false;
      return true;
    }
    template <class Visit>
    bool for_each_down(Visit&& visit) const {
      for (std::size_t i = counts.size(); i-- > 0;)
        if (counts[i] > 0 && !visit(first + static_cast<std::uint32_t>(i), counts[i])) return false;
      return true;
    }
  };

  Side positive_, negative_;
  std::uint64_t zeros_ = 0, undefined_ = 0;
};

/// The quantiles in reports.
struct NamedQuantile {
  const char* name;
  double share;
};
inline constexpr NamedQuantile kNamedQuantiles[] = {
    {"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99.9", 0.999}};

}  // namespace orrery
