// SPDX-License-Identifier: Apache-2.0
//
// The disturbances of tests: disturb(options).events_to_cut = 7.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "run/options/disturbances.h"
#include "run/options/options.h"
#include "run/world/world.h"

namespace orrery::testing {

struct Disturbed final : Disturbances {
  std::size_t messages = 0;  ///< of a channel; 0: as usual
  std::uint64_t to_cut = 0, to_move = 0;
  std::uint64_t lps_of_part = 0, events_of_step = 0;  ///< 0: as usual
  bool at_calls = false, streams = false;

  std::size_t channel_messages(std::size_t usual) const override {
    return messages > 0 ? messages : usual;
  }
  std::uint64_t events_to_cut() const override { return to_cut; }
  std::uint64_t events_to_move() const override { return to_move; }
  std::uint64_t part_lps() const override { return lps_of_part; }
  std::uint64_t step_events() const override {
    return events_of_step > 0 ? events_of_step : Disturbances::step_events();
  }
  std::size_t bytes_to_stream(std::size_t usual) const override { return streams ? 0 : usual; }
  bool reports_cuts() const override { return true; }
  bool interrupts_at_calls() const override { return at_calls; }
  /// Some LPs go to random workers; now and then all LPs of a worker leave it.
  void move(std::uint64_t number, unsigned workers,
            std::vector<std::uint16_t>& owners) const override {
    std::uint64_t random = number;
    const auto draw = [&random](std::uint64_t below) {  // SplitMix64 (Steele, Lea, Flood 2014)
      std::uint64_t x = random += 0x9e3779b97f4a7c15;
      x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
      x = (x ^ x >> 27) * 0x94d049bb133111eb;
      return (x ^ x >> 31) % below;
    };
    const std::uint64_t left = draw(2) == 0 ? draw(workers) : workers;  // `workers`: nobody's
    for (std::uint16_t& owner : owners) {
      if (owner == World::kElsewhere) continue;
      if (owner == left || draw(3) == 0) owner = static_cast<std::uint16_t>(draw(workers));
      if (owner == left) owner = static_cast<std::uint16_t>((owner + 1) % workers);
    }
  }
};

/// The disturbances of these options, to be changed; options that share them keep theirs.
inline Disturbed& disturb(RunOptions& options) {
  const auto* const before = dynamic_cast<const Disturbed*>(options.disturbances.get());
  auto own =
      before != nullptr ? std::make_shared<Disturbed>(*before) : std::make_shared<Disturbed>();
  options.disturbances = own;
  return *own;
}

}  // namespace orrery::testing
