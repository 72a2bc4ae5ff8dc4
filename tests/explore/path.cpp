// SPDX-License-Identifier: Apache-2.0
//
// The choices of a run.
#include "explore/path.h"

#include <cstdio>
#include <cstdlib>

namespace orrery::explore {

void stop(const char* sentence) {
  std::fprintf(stderr, "explore: %s\n", sentence);
  std::abort();
}

unsigned Path::choose(unsigned count) {
  if (depth_ == path_.size()) path_.push_back({0, count});
  Choice& choice = path_[depth_++];
  if (choice.count == 0) choice.count = count;
  if (choice.taken >= count || choice.count != count)
    stop("the choices do not fit: the scenario must do the same in every run");
  return choice.taken;
}

bool Path::advance() {
  path_.resize(depth_);
  while (!path_.empty() && path_.back().taken + 1 == path_.back().count) path_.pop_back();
  if (path_.empty()) return false;
  ++path_.back().taken;
  return true;
}

void Path::set(const std::vector<unsigned>& choices) {
  path_.clear();
  for (const unsigned taken : choices) path_.push_back({taken, 0});
  depth_ = 0;
}

std::vector<unsigned> Path::choices() const {
  std::vector<unsigned> choices;
  for (std::size_t i = 0; i < depth_; ++i) choices.push_back(path_[i].taken);
  while (!choices.empty() && choices.back() == 0) choices.pop_back();
  return choices;
}

}  // namespace orrery::explore
