// SPDX-License-Identifier: Apache-2.0
#include "run/containment/lp_names.h"

#include <fmt/format.h>

#include <exception>

#include "core/model_stack.h"
#include "orrery/error.h"
#include "run/containment/activity.h"

namespace orrery {
namespace {

/// Model code that may crash: it may be asked about an LP in whatever state a fault has left.
std::string name_or_nothing(const Model& model, LpId lp) {
  std::string name;
  look_at_remains([&] {
    try {
      name = model.name_of(lp);
    } catch (...) {  // the sentence is about another mistake
    }
  });
  return mistake_in_name(name).empty() ? name : "";
}

}  // namespace

std::string lp_name(const Model& model, LpId lp) {
  const ModelCall call("name_of()", lp);
  std::string name;
  std::string why;
  try {
    name = model.name_of(lp);
    why = mistake_in_name(name);
    if (!why.empty()) why = "the name is not possible: " + why;
  } catch (const std::exception& exception) {
    why = exception.what();
  } catch (...) {
    why = "it threw something that is not a std::exception";
  }
  if (!why.empty()) throw ModelFault(fmt::format("model fault in name_of() of LP {}: {}", lp, why));
  return name;
}

std::string lp_text(const Model& model, LpId lp) {
  return "LP " + lp_number_text(model, lp);
}

std::string lp_number_text(const Model& model, LpId lp) {
  return lp_number_text(lp, lp < model.lp_count() ? name_or_nothing(model, lp) : "");
}

}  // namespace orrery
