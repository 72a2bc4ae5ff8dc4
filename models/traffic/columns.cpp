// SPDX-License-Identifier: Apache-2.0
#include "columns.h"

#include <fmt/format.h>

#include <cctype>

#include "orrery/error.h"
#include "tntp_reader.h"

namespace traffic {
namespace {

constexpr std::size_t kCapacity = 2;
constexpr std::size_t kFirstOfRest = 5;

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

/// The names in lower case. In a header with tabs, a name may consist of several words.
std::vector<std::string> names_of(std::string_view header) {
  if (header.starts_with('~')) header.remove_prefix(1);
  const bool tabs = header.find('\t') != std::string_view::npos;
  std::vector<std::string> names;
  std::string name;
  const auto end_name = [&] {
    const std::string_view trimmed = trim(name);
    if (!trimmed.empty()) names.emplace_back(trimmed);
    name.clear();
  };
  for (const char c : header) {
    if (c == '\t' || c == ';' || (!tabs && c == ' '))
      end_name();
    else
      name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  end_name();
  return names;
}

bool is_per_lane(const std::string& name) {
  return has(name, "lane") || has(name, "/ln") || has(name, "vphpl");
}

}  // namespace

LinkColumns::LinkColumns(const std::string& path, std::string_view original_header,
                         const std::vector<std::string_view>& comments)
    : path_(path) {
  read(original_header);
  for (const std::string_view comment : comments) read(comment);
  if (capacity_is_per_lane_ && !lanes_) {
    throw orrery::UsageError(fmt::format(
        "{}: by the names of its columns capacities are those of one lane, but none is 'lanes': "
        "how "
        "many lanes do the links have? Write the capacity of all lanes and name the column "
        "'capacity'",
        path));
  }
}

void LinkColumns::read(std::string_view header) {
  const std::vector<std::string> names = names_of(header);
  const bool is_header = names.size() > kFirstOfRest && has(names[kCapacity], "cap");
  if (!is_header) return;
  if (is_per_lane(names[kCapacity])) capacity_is_per_lane_ = true;
  for (std::size_t i = kFirstOfRest; i < std::min(names.size(), kFirstOfRest + 5); ++i)
    if (has(names[i], "lanes")) lanes_ = i - kFirstOfRest;
}

void LinkColumns::apply(const double (&rest)[5], TntpLink& link) const {
  if (!lanes_) return;
  link.lanes = rest[*lanes_];
  const bool valid = capacity_is_per_lane_ ? link.lanes > 0 : link.lanes >= 0;
  if (!valid || link.lanes > 1000) {
    refuse_line(path_, link.line,
                fmt::format("a number of lanes is expected in column {}, found {}",
                            *lanes_ + kFirstOfRest + 1, link.lanes));
  }
  if (capacity_is_per_lane_) link.capacity *= link.lanes;
}

}  // namespace traffic
