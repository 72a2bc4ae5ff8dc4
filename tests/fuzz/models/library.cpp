// SPDX-License-Identifier: Apache-2.0
//
// Parts of the language and its library that keep state outside of the object that seems to hold
// it, or pack it in a way of their own.
#include <cfenv>
#include <ctime>
#include <iomanip>
#include <list>
#include <locale>
#include <memory_resource>
#include <sstream>
#include <system_error>

#include "nasty.h"

namespace orrery::fuzz {
namespace {

/// A locale by name: loaded by the library, counted by reference.
class Locales final : public Habit {
  std::uint64_t change(Random& random, std::uint64_t value) override {
    if (random.below(3) == 0) locales_.emplace_back("C.UTF-8");
    if (locales_.size() > 3) locales_.pop_front();
    std::ostringstream text;
    if (!locales_.empty()) text.imbue(locales_.back());
    text << value % 1000;
    return mix(locales_.size(), text.str());
  }
  std::uint64_t digest() const override { return locales_.size(); }

  std::list<std::locale> locales_;
};

/// A facet of the LP's own in a copy of the locale that all share, which counts its facets' copies.
class Facets final : public Habit {
  struct Commas final : std::numpunct<char> {
    explicit Commas(char mark) : mark_(mark) {}
    char do_thousands_sep() const override { return mark_; }
    std::string do_grouping() const override { return "\3"; }

   private:
    const char mark_;
  };
  std::uint64_t change(Random& random, std::uint64_t value) override {
    const char mark = static_cast<char>('a' + value % 26);
    if (random.below(2) == 0)
      locales_.emplace_back(std::locale::classic(), new Commas(mark));  // the locale's own
    while (locales_.size() > random.below(4)) locales_.pop_front();
    std::ostringstream text;
    if (!locales_.empty()) text.imbue(locales_.back());
    text << value % 10'000'000;
    return mix(locales_.size(), text.str());
  }
  std::uint64_t digest() const override { return locales_.size(); }

  std::list<std::locale> locales_;
};

/// Sentences of the C library for errors that it does not know, in a buffer of the thread.
class Sentences final : public Habit {
  std::uint64_t change(Random&, std::uint64_t value) override {
    const auto number = static_cast<int>(1000 + value % 100'000);
    text_ = std::error_code(number, std::generic_category()).message();
    return mix(text_.size(), text_);
  }
  std::uint64_t digest() const override { return mix(1, text_); }

  std::string text_;
};

/// A pool for several threads keeps what belongs to a thread in thread-specific data.
class SynchronizedPools final : public Habit {
  std::uint64_t change(Random& random, std::uint64_t value) override {
    if (random.below(3) == 0 && !texts_.empty()) texts_.pop_front();
    texts_.emplace_back(value % 100, 'p');
    return texts_.size();
  }
  std::uint64_t digest() const override { return texts_.size(); }

  std::pmr::synchronized_pool_resource resource_;
  std::pmr::list<std::pmr::string> texts_{&resource_};
};

/// Changes a bit at a time of words that nobody initialised as a whole.
class Bits final : public Habit {
  std::uint64_t change(Random& random, std::uint64_t value) override {
    bits_.push_back(random.below(2) == 1);
    if (bits_.size() > 200) bits_.resize(value % 100);
    return bits_.size();
  }
  std::uint64_t digest() const override {
    std::uint64_t digest = 1;
    for (const bool bit : bits_) digest = mix(digest, bit ? 1 : 2);
    return digest;
  }

  std::vector<bool> bits_;
};

/// Leaves another rounding mode behind, which is the thread's and not the LP's.
class Rounding final : public Habit {
  std::uint64_t change(Random& random, std::uint64_t value) override {
    sum_ = sum_ + static_cast<double>(value % 1000) / 7.0;
    if (random.below(4) == 0) std::fesetround(value % 2 == 0 ? FE_UPWARD : FE_TONEAREST);
    return static_cast<std::uint64_t>(sum_ * 1e6);
  }
  std::uint64_t digest() const override { return static_cast<std::uint64_t>(sum_ * 1e9); }

  volatile double sum_ = 0;  // volatile: computed at run time, in the mode of the thread
};

/// The calendar: functions that return buffers of their own, and the time zone.
class Calendar final : public Habit {
  std::uint64_t change(Random&, std::uint64_t value) override {
    const auto seconds = static_cast<std::time_t>(value % 4'000'000'000);
    std::tm parts{};
    if (gmtime_r(&seconds, &parts) == nullptr) return 0;
    std::ostringstream text;
    text << std::put_time(&parts, "%Y-%m-%d %H:%M:%S %A");
    text_ = text.str();
    return text_.size();
  }
  std::uint64_t digest() const override { return mix(1, text_); }

  std::string text_;
};

class Library final : public NastyModel {
 public:
  Library()
      : NastyModel({habit<Calendar>("calendar"), habit<Bits>("bits"), habit<Locales>("locales"),
                    habit<Facets>("facets"), habit<Sentences>("sentences"),
                    habit<SynchronizedPools>("synchronized_pools"), habit<Rounding>("rounding")}) {}
};

ORRERY_MODEL(Library, "library", "parts of the library with state of their own");

}  // namespace
}  // namespace orrery::fuzz
