// SPDX-License-Identifier: Apache-2.0
//
// The random model of tests/equality as a model that the command loads, its shape as parameters.
#include <optional>

#include "equality/random_model.h"
#include "equality/witness.h"

namespace orrery::testing {
namespace {

class LoadedRandomModel final : public RandomModel {
 public:
  LoadedRandomModel() : RandomModel(RandomModelOptions{}) {}
  void prepare() override {
    options.shape = static_cast<std::uint64_t>(shape.value());
    options.lps = static_cast<LpId>(lps.value());
    options.grain_ticks = grain;
    options.rows = rows;
    options.fault_at_event = fault_at > 0 ? fault_at.value() : -1;
    options.durations = durations;
    if (!held) return;
    outside_.emplace(options.lps, false, false);
    witness = &*outside_;
  }
  LpExecution execution_of(LpId id) const override {
    return held ? Witness::kind(id) : LpExecution::speculative;
  }

 private:
  Parameter<std::int64_t> shape{*this, "shape", 1, {.help = "seed of the model", .minimum = 0}};
  Parameter<std::int64_t> lps{*this, "lps", 64, {.help = "LPs", .minimum = 1, .maximum = 65536}};
  Parameter<std::int64_t> grain{
      *this, "grain", 10, {.help = "delays are multiples of it", .unit = "ticks", .minimum = 1}};
  Parameter<bool> rows{*this, "rows", true, {.help = "some events emit rows"}};
  Parameter<std::int64_t> fault_at{
      *this, "fault_at", 0, {.help = "some LPs fail at this event (0: never)", .minimum = 0}};
  Parameter<bool> durations{*this, "durations", false, {.help = "some events are expanded"}};
  Parameter<bool> held{*this, "held", false, {.help = "some LPs must not roll back"}};
  std::optional<Witness> outside_;
};

ORRERY_MODEL(LoadedRandomModel, "random", "the random model of the equality tests");

}  // namespace
}  // namespace orrery::testing
