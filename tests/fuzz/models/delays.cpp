// SPDX-License-Identifier: Apache-2.0
//
// The random model that promises delays (tests/equality) as a model that the command loads.
#include <optional>

#include "equality/delay_model.h"
#include "equality/witness.h"

namespace orrery::testing {
namespace {

class LoadedDelayModel final : public DelayModel {
 public:
  LoadedDelayModel() : DelayModel(DelayModelOptions{}) {}
  void prepare() override {
    options.shape = static_cast<std::uint64_t>(shape.value());
    options.lps = static_cast<LpId>(lps.value());
    options.grain_ticks = grain;
    options.fault_at_event = fault_at > 0 ? fault_at.value() : -1;
    options.breach_at_event = breach_at > 0 ? breach_at.value() : -1;
    options.durations = durations;
    const std::string how = promise.value();
    options.promise = how == "all"        ? Promise::for_all
                      : how == "edge"     ? Promise::by_edge
                      : how == "clusters" ? Promise::clusters
                                          : Promise::mixed;
    make_neighbours();
    if (!held) return;
    outside_.emplace(options.lps, false, false);
    witness = &*outside_;
  }
  LpExecution execution_of(LpId id) const override {
    return held ? Witness::kind(id) : LpExecution::speculative;
  }

 private:
  Parameter<std::int64_t> shape{*this, "shape", 1, {.help = "seed of the model", .minimum = 0}};
  Parameter<std::int64_t> lps{*this, "lps", 64, {.help = "LPs", .minimum = 2, .maximum = 65536}};
  Parameter<std::int64_t> grain{
      *this, "grain", 10, {.help = "delays are multiples of it", .unit = "ticks", .minimum = 1}};
  Parameter<std::string> promise{
      *this,
      "promise",
      "edge",
      {.help = "for what delays are promised: all, edge, clusters, mixed"}};
  Parameter<std::int64_t> fault_at{
      *this, "fault_at", 0, {.help = "some LPs fail at this event (0: never)", .minimum = 0}};
  Parameter<std::int64_t> breach_at{
      *this, "breach_at", 0, {.help = "some LPs break a promise then (0: never)", .minimum = 0}};
  Parameter<bool> durations{*this, "durations", false, {.help = "some events are expanded"}};
  Parameter<bool> held{*this, "held", false, {.help = "some LPs must not roll back"}};
  std::optional<Witness> outside_;
};

ORRERY_MODEL(LoadedDelayModel, "delays", "the random model that promises delays");

}  // namespace
}  // namespace orrery::testing
