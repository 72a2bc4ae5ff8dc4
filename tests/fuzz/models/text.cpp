// SPDX-License-Identifier: Apache-2.0
//
// Text: the parts of the standard library that hold locales, caches and buffers behind the scenes.
#include <array>
#include <charconv>
#include <cstdio>
#include <iomanip>
#include <regex>
#include <sstream>

#include "nasty.h"

namespace orrery::fuzz {
namespace {

class Patterns final : public Habit {
  std::uint64_t change(Random& random, std::uint64_t value) override {
    if (!pattern_ || random.below(8) == 0)
      pattern_ = std::make_unique<std::regex>(kPatterns[value % kPatterns.size()]);
    text_ += std::to_string(value % 1000) + (value % 3 == 0 ? "-" : "a");
    if (text_.size() > 60) text_.erase(0, 40);
    std::smatch found;
    if (std::regex_search(text_, found, *pattern_))
      text_ = found.prefix().str() + "<" + found.suffix().str();
    return text_.size();
  }
  std::uint64_t digest() const override {
    if (!pattern_) return 1;
    return mix(2, std::regex_replace(text_, *pattern_, "[$&]"));
  }

  static constexpr std::array<const char*, 4> kPatterns = {"[0-9]+a", "(1|22|333)*-", "a.*a",
                                                           "([^-]+)-([^-]+)"};
  std::unique_ptr<std::regex> pattern_;
  std::string text_;
};

/// A stream that lives over events.
class Streams final : public Habit {
  std::uint64_t change(Random& random, std::uint64_t value) override {
    if (!stream_ || random.below(16) == 0) stream_ = std::make_unique<std::stringstream>();
    switch (random.below(4)) {
      case 0:
        *stream_ << std::hex << std::setw(12) << value << ' ';
        break;
      case 1:
        *stream_ << std::setprecision(17) << static_cast<double>(value % 9973) / 7.0 << ' ';
        break;
      case 2: {
        std::string word;
        if (!(*stream_ >> word)) stream_->clear();
        return mix(1, word);
      }
      default:
        *stream_ << std::boolalpha << (value % 2 == 0) << '\n';
    }
    return static_cast<std::uint64_t>(stream_->tellp());
  }
  std::uint64_t digest() const override { return stream_ ? mix(3, stream_->str()) : 0; }

  std::unique_ptr<std::stringstream> stream_;
};

class Numbers final : public Habit {
  std::uint64_t change(Random& random, std::uint64_t value) override {
    std::array<char, 64> buffer{};
    const double real = random.uniform() * static_cast<double>(value % 1'000'003);
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), real).ptr;
    texts_.emplace_back(buffer.data(), end);
    const int size = std::snprintf(buffer.data(), buffer.size(), "%.12g %llx", real,
                                   static_cast<unsigned long long>(value));
    texts_.emplace_back(buffer.data(), static_cast<std::size_t>(size));
    double back = 0;
    const std::string& first = texts_[texts_.size() - 2];
    std::from_chars(first.data(), first.data() + first.size(), back);
    if (back != real) throw std::logic_error("a number did not come back from its text");
    if (texts_.size() > 16) texts_.erase(texts_.begin(), texts_.begin() + 8);
    return static_cast<std::uint64_t>(std::stod(texts_.back()));
  }
  std::uint64_t digest() const override {
    std::uint64_t digest = 2;
    for (const std::string& text : texts_) digest = mix(digest, text);
    return digest;
  }

  std::vector<std::string> texts_;
};

class Text final : public NastyModel {
 public:
  Text()
      : NastyModel(
            {habit<Patterns>("patterns"), habit<Streams>("streams"), habit<Numbers>("numbers")}) {}
};

ORRERY_MODEL(Text, "text", "patterns, streams and numbers as text");

}  // namespace
}  // namespace orrery::fuzz
