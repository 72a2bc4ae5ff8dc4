// SPDX-License-Identifier: Apache-2.0
#include "run/options/lp_patterns.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <limits>

#include "core/text.h"
#include "orrery/error.h"
#include "run/containment/lp_names.h"
#include "run/options/option_forms.h"

namespace orrery {
namespace {

bool is_digits(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}
bool is_number_or_range(std::string_view text) {
  return is_digits(text) || (text.find("..") != std::string_view::npos &&
                             text.find_first_not_of("0123456789.") == std::string_view::npos);
}

LpRange read_range(const std::string& flag, const std::string& one) {
  constexpr std::uint64_t kMost = std::numeric_limits<LpId>::max() - 1;
  const auto number = [&](const std::string& text) {
    return static_cast<LpId>(option_forms::read_count(flag, text, 0, kMost));
  };
  const std::size_t dots = one.find("..");
  const LpId first = number(one.substr(0, dots));
  const LpId last = dots == std::string::npos ? first : number(one.substr(dots + 2));
  if (last < first)
    throw UsageError(
        fmt::format("{} cannot be '{}': a range goes from the lower number to the "
                    "higher one, as in 0..3",
                    flag, one));
  return {first, last};
}

/// For fnmatch, which knows sets in brackets, too.
std::string escaped_for_fnmatch(const std::string& pattern) {
  std::string text;
  for (const char c : pattern) {
    if (c == '[' || c == '\\') text += '\\';
    text += c;
  }
  return text;
}

[[noreturn]] void refuse_pattern(const std::string& flag, const std::string& pattern,
                                 const NamedLps& lps) {
  const std::string names = first_names(lps);
  throw UsageError(
      names.empty()
          ? fmt::format("{}: no LP matches '{}': {} names no LPs; their numbers are 0 to {}", flag,
                        printable(pattern), lps.owner, lps.count - 1)
          : fmt::format("{}: no LP matches '{}': {} has {} LPs, with the names {}", flag,
                        printable(pattern), lps.owner, lps.count, names));
}

}  // namespace

NamedLps named_lps(const Model& model) {
  return {.count = model.lp_count(), .name_of = [&model](LpId lp) { return lp_name(model, lp); }};
}

LpRanges matching_lps(const std::string& flag, const std::string& pattern, const NamedLps& lps) {
  if (is_number_or_range(pattern)) {
    const LpRange range = read_range(flag, pattern);
    if (range.second < lps.count) return {range};
    throw UsageError(fmt::format("{}: there is no LP {}; {} has {}, from 0 on", flag, range.second,
                                 lps.owner, lps.count));
  }
  const std::string plain = escaped_for_fnmatch(pattern);
  LpRanges found;
  for (std::uint64_t i = 0; i < lps.count; ++i) {
    const auto lp = static_cast<LpId>(i);
    std::string name = lps.name_of(lp);
    if (name.empty()) name = std::to_string(lp);
    if (fnmatch(plain.c_str(), name.c_str(), 0) != 0) continue;
    if (!found.empty() && found.back().second + 1 == lp)
      found.back().second = lp;
    else
      found.emplace_back(lp, lp);
  }
  if (found.empty()) refuse_pattern(flag, pattern, lps);
  return found;
}

LpRanges read_lps(const std::string& flag, const std::string& text, const NamedLps& lps) {
  std::vector<LpRange> all;
  for (const std::string& one : option_forms::read_list(flag, text)) {
    const LpRanges found = matching_lps(flag, one, lps);
    all.insert(all.end(), found.begin(), found.end());
  }
  return united(std::move(all));
}

LpRanges read_ranges(const std::string& flag, const std::string& text) {
  std::vector<LpRange> all;
  for (const std::string& one : option_forms::read_list(flag, text))
    all.push_back(read_range(flag, one));
  return united(std::move(all));
}

std::string first_names(const NamedLps& lps) {
  constexpr std::size_t kNamed = 5;
  std::string names;
  std::size_t count = 0;
  for (std::uint64_t lp = 0; lp < lps.count; ++lp) {
    const std::string name = lps.name_of(static_cast<LpId>(lp));
    if (name.empty()) continue;
    if (count == kNamed) return names + ", ...";
    names += (count++ == 0 ? "" : ", ") + name;
  }
  return names;
}

}  // namespace orrery
