// SPDX-License-Identifier: Apache-2.0
#include "again.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace orrery::lab {
namespace {

namespace fs = std::filesystem;

bool is_same_folder(const fs::path& one, const fs::path& other) {
  std::error_code none;
  return fs::weakly_canonical(one, none) == fs::weakly_canonical(other, none);
}

}  // namespace

std::string Setting::text() const {
  const std::string value = parameter->value_text();
  if (!is_path) return value;
  std::vector<std::string> paths = split_at_commas(value);
  for (std::string& path : paths) path = fs::absolute(path).string();
  return fmt::format("{}", fmt::join(paths, ","));
}

std::vector<std::string> split_at_commas(const std::string& list) {
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin < list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    if (end > begin) words.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

Again::Again(AgainParameters& parameters, std::span<const Setting> settings, const fs::path& own,
             std::uint64_t seed)
    : folder_(parameters.folder),
      records_(RunRecords::read(folder_)),
      is_in_place_(is_same_folder(folder_, own)) {
  if (records_.seed != seed)
    refuse(fmt::format("its seed was {0}, and this run's is {1}: add --seed {0}", records_.seed,
                       seed));
  const std::int64_t end = records_.end_ns(), asked = parameters.until.value().ticks();
  until_ns_ = asked == 0 ? end : asked;
  added_ = split_at_commas(parameters.events);
  if (is_in_place_ && (until_ns_ < end || !added_.empty()))
    refuse(
        fmt::format("this is another run from {} s on, which would replace the earlier one: "
                    "folder=NEW names a folder for it",
                    static_cast<double>(until_ns_) / 1e9));
  records_.cut(until_ns_);
  for (const auto& [name, value] : records_.settings) {
    const auto found = std::find_if(settings.begin(), settings.end(), [&](const Setting& one) {
      return one.parameter->name() == name;
    });
    if (found == settings.end()) refuse("its log sets '" + name.substr(0, 40) + "'");
    const bool is_given = take_over(*found, value);
    if (name != "rate" || is_given) continue;
    for (const Outside& one : records_.outside)
      if (one.kind == Outside::Kind::rate) found->parameter->set(one.bytes);
  }
}

void Again::refuse(const std::string& why) const {
  throw UsageError("the run in '" + folder_ + "' cannot be repeated: " + why);
}

/// A given value wins, but cannot make it another run. Returns whether one is given.
bool Again::take_over(const Setting& setting, const std::string& value) const {
  ParameterBase& parameter = *setting.parameter;
  const bool is_given = parameter.value_text() != parameter.default_text();
  if (parameter.name() == "events" && !value.empty()) {
    parameter.set(is_given ? value + "," + parameter.value_text() : value);
  } else if (!is_given) {
    parameter.set(value);
  } else if ((parameter.name() == "topology" || parameter.name() == "shell") &&
             setting.text() != value) {
    refuse(fmt::format("'{}' was '{}', and cannot be another", parameter.name(), value));
  }
  return is_given;
}

bool Again::adds(const std::string& events) const {
  return std::find(added_.begin(), added_.end(), events) != added_.end();
}

void Again::compare(const SeenFiles& seen) const {
  std::map<std::string, std::string> then = records_.seen;
  const std::map<std::string, std::string> now(seen.begin(),
                                               seen.end());  // kinds of hosts share some
  std::vector<std::string> changes;
  for (const auto& [what, digest] : now) {
    const auto found = then.find(what);
    if (found == then.end()) {
      changes.push_back(what + " was not seen then");
      continue;
    }
    if (found->second != digest) changes.push_back(what + " has changed since");
    then.erase(found);
  }
  for (const auto& [what, digest] : then)
    changes.push_back(what + " was seen then, and is not now");
  constexpr std::size_t kShown = 5;
  const std::size_t more = changes.size() - std::min(kShown, changes.size());
  changes.resize(changes.size() - more);
  if (more > 0) changes.push_back(fmt::format("and {} more", more));
  if (!changes.empty()) refuse(fmt::format("{}", fmt::join(changes, "; ")));
}

}  // namespace orrery::lab
