// SPDX-License-Identifier: Apache-2.0
//
// A model of so many LPs of one kind that share something which changes no result: how far they are
// on the wall, how often something has happened.
#pragma once

#include <cstdint>
#include <memory>

#include "orrery/orrery.h"

namespace orrery::testing {

template <class Lp, class Shared, std::uint64_t kLps>
class ModelOf final : public Model {
 public:
  std::uint64_t lp_count() const override { return kLps; }
  std::unique_ptr<LogicalProcessBase> create(LpId) const override {
    return std::make_unique<Lp>(shared);
  }
  mutable Shared shared;
};

}  // namespace orrery::testing
