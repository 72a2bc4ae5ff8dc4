// SPDX-License-Identifier: Apache-2.0
#include "core/exact_sums.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "memory/application_mode.h"

namespace orrery {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr unsigned kChunkBits = 32;
constexpr std::int64_t kChunkMask = 0xffffffff;
constexpr unsigned kTermChunks = 3;  // chunks that a double touches
constexpr int kUnitExponent = -1074;

}  // namespace

void ExactSums::add(std::size_t place, double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const auto exponent = static_cast<unsigned>(bits >> 52 & 0x7ff);
  if (exponent == 0x7ff) [[unlikely]] {
    if (place >= places()) reach(place, first_, first_ + width_);
    specials_[place] |= value != value ? kUndefined : value > 0 ? kPositive : kNegative;
    return;
  }
  const unsigned position = std::max(exponent, 1u) - 1;  // of the significand's last bit, in units
  const unsigned chunk = position / kChunkBits;
  if (place >= places() || chunk < first_ || chunk + kTermChunks > first_ + width_) [[unlikely]]
    reach(place, chunk, chunk + kTermChunks);
  constexpr std::uint64_t kFraction = (std::uint64_t{1} << 52) - 1;
  const std::uint64_t significand =
      (bits & kFraction) | (exponent == 0 ? 0 : std::uint64_t{1} << 52);
  const Wide shifted = Wide{significand} << position % kChunkBits;
  std::int64_t* const to = row(place) + (chunk - first_);
  const bool negative = bits >> 63 != 0;
  for (unsigned i = 0; i < kTermChunks; ++i) {
    const auto part = static_cast<std::int64_t>(shifted >> i * kChunkBits) & kChunkMask;
    to[i] += negative ? -part : part;
  }
  if (++terms_ == kTermsWithoutCarry) [[unlikely]]
    carry();
}

/// Makes room for a place and for chunks from `first` to `end`. May be called in a handler.
void ExactSums::reach(std::size_t place, unsigned first, unsigned end) {
  const memory::PlatformMode platform;
  const unsigned new_first = width_ == 0 ? first : std::min(first, first_);
  const unsigned new_end = std::max(end, first_ + width_);
  const unsigned new_width = new_end - new_first;
  const std::size_t places = std::max(place + 1, specials_.size());
  if (new_first == first_ && new_width == width_) {
    chunks_.resize(places * width_);
  } else {
    std::vector<std::int64_t> wider(places * new_width);
    for (std::size_t i = 0; i < specials_.size(); ++i)
      std::copy_n(row(i), width_, wider.data() + i * new_width + (first_ - new_first));
    chunks_ = std::move(wider);
    first_ = new_first;
    width_ = new_width;
  }
  specials_.resize(places);
}

/// All chunks but the last of a place are from 0 to 2^32 - 1 afterwards, and the last is small.
void ExactSums::carry() {
  terms_ = 1;
  constexpr std::int64_t kLarge = std::int64_t{1} << 31;
  const auto is_large = [&](std::size_t place) {
    return std::abs(row(place)[width_ - 1]) >= kLarge;
  };
  for (bool again = width_ > 0; again;) {
    again = false;
    for (std::size_t place = 0; place < places(); ++place) {
      std::int64_t* const chunks = row(place);
      for (unsigned i = 0; i + 1 < width_; ++i) {
        chunks[i + 1] += chunks[i] >> kChunkBits;
        chunks[i] &= kChunkMask;
      }
      again = again || is_large(place);
    }
    if (again) reach(0, first_, first_ + width_ + 1);
  }
}

void ExactSums::merge(const ExactSums& other) {
  if (other.places() == 0) return;
  ExactSums one = other;
  one.carry();
  carry();
  if (one.width_ == 0) one.first_ = first_;
  reach(one.places() - 1, one.first_, one.first_ + one.width_);
  for (std::size_t place = 0; place < one.places(); ++place) {
    std::int64_t* const to = row(place) + (one.first_ - first_);
    for (unsigned i = 0; i < one.width_; ++i) to[i] += one.row(place)[i];
    specials_[place] |= one.specials_[place];
  }
  carry();
}

double ExactSums::value(std::size_t place) const {
  if (place >= places()) return 0;
  const std::uint8_t special = specials_[place];
  if (special == kPositive) return std::numeric_limits<double>::infinity();
  if (special == kNegative) return -std::numeric_limits<double>::infinity();
  if (special != 0) return std::numeric_limits<double>::quiet_NaN();
  std::vector<std::int64_t> chunks(row(place), row(place) + width_);
  chunks.resize(width_ + 2);
  const auto normalise = [&chunks] {
    for (std::size_t i = 0; i + 1 < chunks.size(); ++i) {
      chunks[i + 1] += chunks[i] >> kChunkBits;
      chunks[i] &= kChunkMask;
    }
  };
  normalise();
  const bool negative = chunks.back() < 0;
  if (negative) {
    for (std::int64_t& chunk : chunks) chunk = -chunk;
    normalise();
  }
  std::size_t top = chunks.size();
  while (top > 0 && chunks[top - 1] == 0) --top;
  if (top == 0) return 0;
  // Three chunks hold 65 bits or more; the lower chunks matter only by being zero or not.
  Wide high = 0;
  for (std::size_t i = 0; i < kTermChunks; ++i)
    high = high << kChunkBits | static_cast<std::uint64_t>(top > i ? chunks[top - 1 - i] : 0);
  bool rest = false;
  for (std::size_t i = 0; i + kTermChunks < top; ++i) rest = rest || chunks[i] != 0;
  int shift = 0;
  for (; high >> 64 != 0; ++shift) {
    rest = rest || (high & 1) != 0;
    high >>= 1;
  }
  const std::uint64_t rounded_later = static_cast<std::uint64_t>(high) | (rest ? 1 : 0);
  const int exponent = kUnitExponent + shift +
                       static_cast<int>(kChunkBits) *
                           (static_cast<int>(first_ + top) - static_cast<int>(kTermChunks));
  const double magnitude = std::ldexp(static_cast<double>(rounded_later), exponent);
  return negative ? -magnitude : magnitude;
}

void ExactSums::write(std::vector<std::uint64_t>& words) const {
  words.insert(words.end(), {places(), first_, width_, terms_});
  words.insert(words.end(), specials_.begin(), specials_.end());
  for (const std::int64_t chunk : chunks_) words.push_back(static_cast<std::uint64_t>(chunk));
}

std::span<const std::uint64_t> ExactSums::merge_words(std::span<const std::uint64_t> words) {
  const auto take = [&words](std::size_t n) {
    if (n > words.size()) throw std::logic_error("sums are shorter than they say");
    const auto taken = words.first(n);
    words = words.subspan(n);
    return taken;
  };
  const auto head = take(4);
  ExactSums other;
  other.first_ = static_cast<unsigned>(head[1]);
  other.width_ = static_cast<unsigned>(head[2]);
  other.terms_ = static_cast<std::uint32_t>(head[3]);
  for (const std::uint64_t special : take(head[0]))
    other.specials_.push_back(static_cast<std::uint8_t>(special));
  for (const std::uint64_t chunk : take(head[0] * head[2]))
    other.chunks_.push_back(static_cast<std::int64_t>(chunk));
  merge(other);
  return words;
}

}  // namespace orrery
