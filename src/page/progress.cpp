// SPDX-License-Identifier: Apache-2.0
#include "page/progress.h"

namespace orrery::page {
namespace {

std::vector<double> list_at(const Json& report, const char* name) {
  std::vector<double> list;
  const Json& json = at(report, {"progress", name});
  if (!json.is_array()) return list;
  for (const Json& one : json)
    if (one.is_number()) list.push_back(one.get<double>());
  return list;
}

}  // namespace

double Progress::rate(double begin, double end) const {
  std::size_t first = 0, last = 0;
  for (std::size_t i = 0; i < size(); ++i) {
    if (wall[i] <= begin) first = i;
    if (wall[i] <= end) last = i;
  }
  if (last <= first || !(wall[last] > wall[first])) return 0;
  return (committed[last] - committed[first]) / (wall[last] - wall[first]);
}

Progress progress_of(const Json& report) {
  Progress all{list_at(report, "wall_seconds"), list_at(report, "simulated_seconds"),
               list_at(report, "committed"), list_at(report, "executed"),
               list_at(report, "memory_bytes")};
  for (const auto* list : {&all.simulated, &all.committed, &all.executed, &all.memory})
    if (list->size() != all.wall.size()) return {};
  return all;
}

}  // namespace orrery::page
