// SPDX-License-Identifier: Apache-2.0
//
// A random model of tests/equality as one that the command loads: what these have in common, as
// parameters. With `held` some LPs must not roll back, and fail if they are executed twice.
#pragma once

#include <cstdint>
#include <optional>

#include "equality/witness.h"
#include "orrery/orrery.h"

namespace orrery::testing {

template <class Base, class Options, std::int64_t kFewestLps = 1>
class LoadedModel : public Base {
 public:
  LoadedModel() : Base(Options{}) {}
  void prepare() override {
    Options& chosen = this->options;
    chosen.shape = static_cast<std::uint64_t>(shape.value());
    chosen.lps = static_cast<LpId>(lps.value());
    chosen.grain_ticks = grain;
    chosen.fault_at_event = fault_at > 0 ? fault_at.value() : -1;
    chosen.durations = durations;
    chosen.phases = phases;
    if (!held) return;
    outside_.emplace(chosen.lps, false, false);
    this->witness = &*outside_;
  }
  LpExecution execution_of(LpId id) const override {
    return held ? Witness::kind(id) : LpExecution::speculative;
  }

 protected:
  Parameter<std::int64_t> shape{*this, "shape", 1, {.help = "seed of the model", .minimum = 0}};
  Parameter<std::int64_t> lps{
      *this, "lps", 64, {.help = "LPs", .minimum = kFewestLps, .maximum = 65536}};
  Parameter<std::int64_t> grain{
      *this, "grain", 10, {.help = "delays are multiples of it", .unit = "ticks", .minimum = 1}};
  Parameter<std::int64_t> fault_at{
      *this, "fault_at", 0, {.help = "some LPs fail at this event (0: never)", .minimum = 0}};
  Parameter<bool> durations{*this, "durations", false, {.help = "some events are expanded"}};
  Parameter<bool> phases{*this, "phases", false, {.help = "some sends name a phase"}};
  Parameter<bool> held{*this, "held", false, {.help = "some LPs must not roll back"}};

 private:
  std::optional<Witness> outside_;
};

}  // namespace orrery::testing
