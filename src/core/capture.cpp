// SPDX-License-Identifier: Apache-2.0
#include "orrery/capture.h"

#include <algorithm>
#include <utility>

#include "orrery/error.h"
#include "orrery/model.h"

namespace orrery {

Capture::Capture(Model& model, std::string name, LinkType link, std::string help)
    : index_(static_cast<std::uint32_t>(model.captures_.size())),
      link_(link),
      name_(std::move(name)),
      help_(std::move(help)) {
  if (name_.empty() || std::max(name_.size(), help_.size()) > kMaxTextBytes)
    throw UsageError("the model's interface '" + name_.substr(0, 40) + "' for captures has " +
                     std::to_string(name_.size()) + " bytes of name and " +
                     std::to_string(help_.size()) + " of help; a name has 1 to " +
                     std::to_string(kMaxTextBytes) + ", a help text at most as many");
  for (const Capture* other : model.captures_)
    if (other->name_ == name_)
      throw UsageError("the model has two interfaces for captures called '" + name_ +
                       "'; rename one");
  model.captures_.push_back(this);
}

}  // namespace orrery
