// SPDX-License-Identifier: Apache-2.0
//
// The random model that promises delays (tests/equality) as a model that the command loads.
#include "equality/delay_model.h"
#include "loaded.h"

namespace orrery::testing {
namespace {

class LoadedDelayModel final : public LoadedModel<DelayModel, DelayModelOptions, 2> {
 public:
  void prepare() override {
    LoadedModel::prepare();
    options.breach_at_event = breach_at > 0 ? breach_at.value() : -1;
    const std::string how = promise.value();
    options.promise = how == "all"        ? Promise::for_all
                      : how == "edge"     ? Promise::by_edge
                      : how == "clusters" ? Promise::clusters
                                          : Promise::mixed;
    make_neighbours();
  }

 private:
  Parameter<std::string> promise{
      *this,
      "promise",
      "edge",
      {.help = "for what delays are promised: all, edge, clusters, mixed"}};
  Parameter<std::int64_t> breach_at{
      *this, "breach_at", 0, {.help = "some LPs break a promise then (0: never)", .minimum = 0}};
};

ORRERY_MODEL(LoadedDelayModel, "delays", "the random model that promises delays");

}  // namespace
}  // namespace orrery::testing
