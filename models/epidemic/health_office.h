// SPDX-License-Identifier: Apache-2.0
//
// The LP that counts the people of a region by stage, for the tables. At the end of each step,
// locations report what happened to people who live in the region, at any location.
#pragma once

#include <array>
#include <cstdint>

#include "events.h"
#include "model.h"
#include "orrery/orrery.h"

namespace epidemic {

class HealthOffice final : public orrery::LogicalProcess<HealthOffice, Tally, Sighting, StepEnd> {
 public:
  HealthOffice(const Epidemic& model, orrery::LpId id);

  void start(orrery::Context& context) override;
  void handle(orrery::Context& context, const Tally& tally);
  void handle(orrery::Context& context, const Sighting& sighting);
  void handle(orrery::Context& context, const StepEnd& end);
  void finish(orrery::FinalContext& context) override;

 private:
  std::uint64_t& at(Stage stage) { return people_[index_of(stage)]; }

  const Epidemic& model_;
  const std::uint32_t region_;
  std::array<std::uint64_t, kStages> people_{};  ///< by stage
  std::uint64_t infected_ = 0, infected_before_ = 0;
  std::uint64_t most_infectious_ = 0;
  std::uint64_t steps_ = 0, worst_step_ = 0;
  orrery::Time first_case_ = orrery::Time::max();
  orrery::Time first_infection_ = orrery::Time::max();
};

}  // namespace epidemic
