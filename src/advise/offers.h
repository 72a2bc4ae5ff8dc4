// SPDX-License-Identifier: Apache-2.0
//
// From what was measured here to what the full run takes, here and elsewhere, which machines are
// worth their price, and which of them to take.
//
// On one machine the fastest configuration is the cheapest one too, since price is time: so there
// is one offer for each machine. Among machines nothing of the kind holds, and there the choice is
// one between time and price: the efficient frontier has those that no other beats in both.
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

/// A time, with the errors of both how many events there are and what one costs.
Likely time_of_run(const Measured& measured, const Likely& events, double start_seconds);

/// How the full run is timed.
struct Work {
  Likely events;
  double start_seconds = 0;  ///< beside the events
  double speed = 1;          ///< factor of the machine where it was measured
};

struct Offer {
  Machine machine;
  Configuration configuration;
  Likely seconds;
  double price = 0;
  bool is_extrapolated = false;  ///< to more cores than there are where it was measured
  bool is_efficient = false;     ///< no other is faster and not dearer
};

struct Offers {
  std::vector<Offer> offers;       ///< in the order of the table
  std::vector<std::string> notes;  ///< on machines without one
};

/// Of every machine on which one of these can run.
Offers make_offers(std::span<const Measured> measured, const Work& work,
                   std::span<const Machine> machines);

/// Sets `is_efficient`.
void mark_efficient(std::vector<Offer>& offers);

struct Limits {
  std::optional<double> seconds, price;
};

/// Within the limits, by the ends of the intervals: the fastest, if only the price is limited, else
/// the cheapest. Nothing where none is within them.
std::optional<std::size_t> recommended(std::span<const Offer> offers, const Limits& limits);

/// The measured configuration of the least time, those that are beyond the cores left out.
std::optional<std::size_t> fastest(std::span<const Measured> measured, const Work& work);

}  // namespace orrery::advise
