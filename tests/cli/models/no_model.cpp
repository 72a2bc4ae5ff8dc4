// SPDX-License-Identifier: Apache-2.0
//
// A shared object that loads and registers nothing: ORRERY_MODEL was forgotten.
#include "orrery/orrery.h"

namespace {

class Forgotten final : public orrery::Model {
 public:
  std::uint64_t lp_count() const override { return 1; }
  std::unique_ptr<orrery::LogicalProcessBase> create(orrery::LpId) const override {
    return nullptr;
  }
};

}  // namespace

extern "C" orrery::Model* make_forgotten() {
  return new Forgotten;
}
