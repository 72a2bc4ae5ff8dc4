// SPDX-License-Identifier: Apache-2.0
//
// Computes from the measurements here how long the full run takes, here and on other machines,
// which machines are worth their price, and which machine to recommend.
//
// On one machine the fastest configuration is also the cheapest, since the price depends on time
// only. So there is one offer for each machine. Between machines the user chooses between time and
// price: the efficient frontier has the offers that no other offer beats in both.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "advise/configuration.h"
#include "advise/cost_fit.h"
#include "advise/forecast.h"
#include "advise/machines.h"

namespace orrery::advise {

inline constexpr double kConfidence = 0.95;

/// The time of the full run, with the errors of the number of events and of their cost.
Likely time_of_run(const Measured& measured, const Likely& events, double start_seconds);

/// The data that the time of the full run depends on.
struct Work {
  Likely events;
  double start_seconds = 0;  ///< time outside of the event loop
  double speed = 1;          ///< factor of the machine of the measurements
};

struct Offer {
  Machine machine;
  Configuration configuration;
  Likely seconds;
  double price = 0;
  bool is_extrapolated = false;  ///< to more executors than were measured
  bool is_efficient = false;     ///< no other offer is faster and at most as expensive
};

struct Offers {
  std::vector<Offer> offers;       ///< in the order of the table
  std::vector<std::string> notes;  ///< on machines without an offer
};

/// Offers for every machine on which one of these can run.
Offers make_offers(std::span<const Measured> measured, const Work& work,
                   std::span<const Machine> machines);

/// Sets `is_efficient`.
void mark_efficient(std::vector<Offer>& offers);

struct Limits {
  std::optional<double> seconds, price;
};

/// The best offer within the limits, by the upper ends of the intervals: the fastest if only the
/// price is limited, else the cheapest. Nothing if no offer is within the limits.
std::optional<std::size_t> recommended(std::span<const Offer> offers, const Limits& limits);

/// The measured configuration with the least time, without those of more executors than cores.
std::optional<std::size_t> fastest(std::span<const Measured> measured, const Work& work);

}  // namespace orrery::advise
