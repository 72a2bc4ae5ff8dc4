// SPDX-License-Identifier: Apache-2.0
#include "core/series.h"

#include <algorithm>
#include <bit>
#include <cfenv>
#include <stdexcept>

#include "core/float_environment.h"
#include "memory/application_mode.h"

namespace orrery {
namespace {

/// Sets the default environment, since a handler may have chosen another rounding mode. Whether
/// that mode still holds depends on the engine: some add observations at once, some when the event
/// commits.
class DefaultFloats {
 public:
  DefaultFloats() : is_changed_(FloatControl::now() != FloatControl{}) {
    if (!is_changed_) [[likely]]
      return;
    std::fegetenv(&before_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~DefaultFloats() {
    if (is_changed_) std::fesetenv(&before_);
  }
  DefaultFloats(const DefaultFloats&) = delete;
  DefaultFloats& operator=(const DefaultFloats&) = delete;

 private:
  const bool is_changed_;
  std::fenv_t before_{};
};

/// Not inlined: the compiler, which ignores the environment, would multiply earlier.
[[gnu::noinline]] double plain_product(double a, double b) {
  return a * b;
}

}  // namespace

void Series::Place::merge(const Place& other) {
  minimum = std::min(minimum, other.minimum);
  maximum = std::max(maximum, other.maximum);
  count += other.count;
}

inline std::size_t Series::place_of(Time time) {
  const auto place = static_cast<std::size_t>(time.ticks() / interval_.ticks());
  if (place >= places_.size()) [[unlikely]]
    reach(place);
  return place;
}

void Series::reach(std::size_t place) {
  const memory::PlatformMode platform;
  places_.resize(place + 1);
}

/// Ignores the sign of 0, and NaN, for extremes: with either the result would depend on the order
/// of values.
void Series::add(Time time, double value) {
  const std::size_t place = place_of(time);
  const double plain = value + 0.0;
  places_[place].merge(value != value ? Place{.count = 1} : Place{1, plain, plain});
  sums_.add(place, value);
}

void Series::change(Time time, double value, double before) {
  const std::size_t place = place_of(time);
  const auto late = static_cast<double>(time.ticks() % interval_.ticks());
  ++places_[place].count;
  sums_.add(place, value);
  sums_.add(place, -before);
  const DefaultFloats floats;
  moments_.add(place, plain_product(value, late));
  moments_.add(place, -plain_product(before, late));
}

void Series::merge(const Series& other) {
  if (other.places_.size() > places_.size()) places_.resize(other.places_.size());
  for (std::size_t i = 0; i < other.places_.size(); ++i) places_[i].merge(other.places_[i]);
  sums_.merge(other.sums_);
  moments_.merge(other.moments_);
}

std::vector<Series::Interval> Series::intervals(Time from, Time end) const {
  std::vector<Interval> all;
  double level = 0;
  const std::int64_t ticks = interval_.ticks();
  for (std::int64_t i = 0; i < (end.ticks() + ticks - 1) / ticks; ++i) {
    const auto place = static_cast<std::size_t>(i);
    const Place seen = place < places_.size() ? places_[place] : Place();
    const Time begin = Time::from_ticks(i * ticks);
    Interval one{begin, std::min(end, begin + interval_), seen.count, sums_.value(place), 0, 0, 0};
    if (seen.minimum <= seen.maximum) {
      one.minimum = seen.minimum;
      one.maximum = seen.maximum;
    }
    if (of_level_) {
      const auto lasts = static_cast<double>((one.end - one.begin).ticks());
      one.mean = level + (one.sum * lasts - moments_.value(place)) / lasts;
      level += one.sum;
      one.sum = 0;
    } else if (one.count > 0) {
      one.mean = one.sum / static_cast<double>(one.count);
    }
    if (one.end > from) all.push_back(one);
  }
  return all;
}

void Series::write(std::vector<std::uint64_t>& words) const {
  words.push_back(places_.size());
  for (const Place& place : places_)
    words.insert(words.end(), {place.count, std::bit_cast<std::uint64_t>(place.minimum),
                               std::bit_cast<std::uint64_t>(place.maximum)});
  sums_.write(words);
  moments_.write(words);
}

std::span<const std::uint64_t> Series::merge_words(std::span<const std::uint64_t> words) {
  constexpr std::size_t kPlaceWords = 3;
  if (words.empty() || words[0] > (words.size() - 1) / kPlaceWords)
    throw std::logic_error("a series is shorter than it says");
  const std::size_t count = words[0];
  Series other(interval_, of_level_);
  words = words.subspan(1);
  for (std::size_t i = 0; i < count; ++i, words = words.subspan(kPlaceWords))
    other.places_.push_back(
        {words[0], std::bit_cast<double>(words[1]), std::bit_cast<double>(words[2])});
  words = other.sums_.merge_words(words);
  words = other.moments_.merge_words(words);
  merge(other);
  return words;
}

}  // namespace orrery
