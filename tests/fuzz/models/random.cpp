// SPDX-License-Identifier: Apache-2.0
//
// The random model of tests/equality as a model that the command loads, its shape as parameters.
#include "equality/random_model.h"
#include "loaded.h"

namespace orrery::testing {
namespace {

class LoadedRandomModel final : public LoadedModel<RandomModel, RandomModelOptions> {
 public:
  void prepare() override {
    LoadedModel::prepare();
    options.rows = rows;
  }

 private:
  Parameter<bool> rows{*this, "rows", true, {.help = "some events emit rows"}};
};

ORRERY_MODEL(LoadedRandomModel, "random", "the random model of the equality tests");

}  // namespace
}  // namespace orrery::testing
