// SPDX-License-Identifier: Apache-2.0
#include "setting.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace oversubscribed {
namespace {

using Choices = std::vector<std::string>;

std::string listed(const Choices& choices) {
  std::string text;
  for (const std::string& one : choices) text += (text.empty() ? "" : ", ") + one;
  return text;
}

void choose(std::string& into, const std::string& name, const std::string& value,
            const Choices& choices) {
  if (std::find(choices.begin(), choices.end(), value) == choices.end())
    throw WrongWord("there is no " + name + " '" + value + "'; there are " + listed(choices));
  into = value;
}

template <class Number>
void read(Number& into, const std::string& name, const std::string& value, std::int64_t least,
          std::int64_t most) {
  std::int64_t number = 0;
  const char* end = value.data() + value.size();
  const auto [last, error] = std::from_chars(value.data(), end, number);
  if (error != std::errc() || last != end || number < least || number > most)
    throw WrongWord(name + " is a number from " + std::to_string(least) + " to " +
                    std::to_string(most) + ", not '" + value + "'");
  into = static_cast<Number>(number);
}

void set(Setting& setting, const std::string& name, const std::string& value) {
  if (name == "model") return choose(setting.model, name, value, {"phold", "epidemic", "traffic"});
  if (name == "kernel")
    return choose(setting.kernel, name, value, {"sequential", "conservative", "optimistic"});
  if (name == "way") return choose(setting.way, name, value, {"spin", "yield", "block", "llf"});
  if (name == "ranks") return read(setting.ranks, name, value, 1, kMostRanks);
  if (name == "lps") return read(setting.lps, name, value, 1, 1 << 20);
  if (name == "end") return read(setting.end, name, value, 1, Ticks{1} << 50);
  if (name == "work") return read(setting.work, name, value, 0, 1'000'000'000);
  if (name == "remote") return read(setting.remote, name, value, 0, 100);
  if (name == "interval") return read(setting.interval, name, value, 1, 100);
  if (name == "round") return read(setting.round, name, value, 1, 1'000'000);
  if (name == "room") return read(setting.room, name, value, 1, 1024);
  if (name == "hogs") return read(setting.hogs, name, value, 0, 64);
  if (name == "limit") return read(setting.limit, name, value, 1, 86'400);
  throw WrongWord("there is no '" + name +
                  "'; there are model, kernel, way, ranks, lps, end, work, remote, interval, "
                  "round, room, hogs, limit");
}

}  // namespace

Setting setting_of(const std::vector<std::string>& words) {
  Setting setting;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos)
      throw WrongWord("'" + word + "' is not NAME=VALUE, such as kernel=optimistic");
    set(setting, word.substr(0, equals), word.substr(equals + 1));
  }
  if (setting.kernel == "sequential" && setting.ranks != 1)
    throw WrongWord("the sequential kernel has one rank, not " + std::to_string(setting.ranks));
  if (setting.lps < setting.ranks)
    throw WrongWord(std::to_string(setting.ranks) + " ranks need at least as many LPs, not " +
                    std::to_string(setting.lps));
  return setting;
}

}  // namespace oversubscribed
