// SPDX-License-Identifier: Apache-2.0
#include "run/model_checks.h"

#include <fmt/format.h>

#include "core/float_environment.h"
#include "orrery/error.h"
#include "run/activity.h"

namespace orrery {

void check_lp_count(const Model& model) {
  const std::uint64_t lps = call_model("lp_count()", [&] { return model.lp_count(); });
  constexpr std::uint64_t kMostLps = (std::uint64_t{1} << 32) - 2;
  if (lps >= 1 && lps <= kMostLps) return;
  throw ModelFault(
      fmt::format("the model has {} logical processes; 1 to {} are possible", lps, kMostLps));
}

std::unique_ptr<LogicalProcessBase> create_lp(const Model& model, LpId id) {
  const ModelCall call("create()", id);
  const FloatGuard floats;
  auto lp = model.create(id);
  if (lp == nullptr) throw ModelFault("create() returned no LP");
  return lp;
}

}  // namespace orrery
