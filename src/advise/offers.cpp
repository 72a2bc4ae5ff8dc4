// SPDX-License-Identifier: Apache-2.0
#include "advise/offers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "advise/scaling.h"
#include "output/number_text.h"

namespace orrery::advise {
namespace {

double upper(const Likely& likely) {
  return likely.value + likely.half_width.value_or(0);
}

bool counts(const Measured& one) {
  return !one.beyond_cores && !one.samples.empty();
}

/// The fastest measured configuration that fits on the machine.
std::optional<Offer> measured_offer(std::span<const Measured> measured, const Work& work,
                                    const Machine& machine) {
  std::optional<Offer> best;
  for (const Measured& one : measured) {
    if (!counts(one) || one.configuration.executors() > machine.cores) continue;
    const Likely seconds = time_of_run(one, work.events, work.start_seconds);
    if (!best || seconds.value < best->seconds.value)
      best = {machine, one.configuration, seconds, 0, false, false};
  }
  return best;
}

/// The sequential engine, the base of comparison for several executors; null: not measured.
const Measured* on_one_core(std::span<const Measured> measured) {
  for (const Measured& one : measured)
    if (counts(one) && one.configuration.engine == "sequential") return &one;
  return nullptr;
}

/// The fastest configuration with one executor on each core, extrapolated.
std::optional<Offer> extrapolated_offer(std::span<const Measured> measured, const Work& work,
                                        const Machine& machine) {
  std::map<std::string, std::vector<const Measured*>> families;
  for (const Measured& one : measured)
    if (counts(one)) families[one.configuration.family()].push_back(&one);
  std::optional<Offer> best;
  for (const auto& [name, members] : families) {
    std::vector<ScalingPoint> points;
    const Measured* largest = members.front();
    bool has_one = false;
    for (const Measured* one : members) {
      has_one |= one->configuration.executors() == 1;
      points.push_back({one->configuration.executors(), one->fit()->per_event});
      if (one->configuration.executors() > largest->configuration.executors()) largest = one;
    }
    if (largest->configuration.executors() >= machine.cores) continue;
    if (const Measured* alone = on_one_core(measured); alone != nullptr && !has_one)
      points.push_back({1, alone->fit()->per_event});
    const std::optional<Scaled> scaled = scale_to(points, machine.cores);
    if (!scaled) continue;
    const double events = work.events.value;
    const double most = scaled->highest - scaled->per_event;
    const double least = scaled->per_event - scaled->lowest;
    const double share = std::hypot(std::max(most, least) / scaled->per_event,
                                    work.events.half_width ? work.events.share() : 0);
    Likely seconds{work.start_seconds + largest->fit()->fixed + events * scaled->per_event, {}};
    seconds.half_width = seconds.value * share;
    if (!best || seconds.value < best->seconds.value)
      best = {machine, largest->configuration.with_executors(machine.cores), seconds, 0, true,
              false};
  }
  return best;
}

std::uint64_t least_memory(std::span<const Measured> measured) {
  std::uint64_t least = 0;
  for (const Measured& one : measured)
    if (counts(one) && (least == 0 || one.memory_bytes < least)) least = one.memory_bytes;
  return least;
}

}  // namespace

Likely time_of_run(const Measured& measured, const Likely& events, double start_seconds) {
  Likely time = measured.fit()->seconds(events.value, kConfidence);
  if (time.half_width && events.half_width)
    time.half_width = std::hypot(*time.half_width, time.value * events.share());
  time.value += start_seconds;
  return time;
}

Offers make_offers(std::span<const Measured> measured, const Work& work,
                   std::span<const Machine> machines) {
  Offers made;
  for (const Machine& machine : machines) {
    if (machine.memory && *machine.memory < static_cast<double>(least_memory(measured))) {
      made.notes.push_back(fmt::format("{} has less memory than the run took here, {}",
                                       machine.name, bytes_text(least_memory(measured))));
      continue;
    }
    std::optional<Offer> offer = measured_offer(measured, work, machine);
    const std::optional<Offer> more = extrapolated_offer(measured, work, machine);
    if (more && (!offer || more->seconds.value < offer->seconds.value)) offer = more;
    if (!offer) {
      made.notes.push_back(fmt::format("{} has too few cores for what was measured", machine.name));
      continue;
    }
    const double factor = work.speed / machine.speed;
    offer->seconds.value *= factor;
    if (offer->seconds.half_width) *offer->seconds.half_width *= factor;
    offer->price = price_of(machine, offer->seconds.value);
    made.offers.push_back(*offer);
  }
  mark_efficient(made.offers);
  return made;
}

void mark_efficient(std::vector<Offer>& offers) {
  for (Offer& one : offers)
    one.is_efficient = std::none_of(offers.begin(), offers.end(), [&](const Offer& other) {
      return (other.seconds.value < one.seconds.value && other.price <= one.price) ||
             (other.seconds.value <= one.seconds.value && other.price < one.price);
    });
}

std::optional<std::size_t> recommended(std::span<const Offer> offers, const Limits& limits) {
  std::optional<std::size_t> best;
  const bool by_time = limits.price && !limits.seconds;
  for (std::size_t i = 0; i < offers.size(); ++i) {
    const Offer& one = offers[i];
    const double latest = upper(one.seconds);
    if (limits.seconds && latest > *limits.seconds) continue;
    if (limits.price && price_of(one.machine, latest) > *limits.price) continue;
    if (!best) {
      best = i;
      continue;
    }
    const Offer& other = offers[*best];
    const auto order = [&](const Offer& offer) {
      return by_time ? std::pair(offer.seconds.value, offer.price)
                     : std::pair(offer.price, offer.seconds.value);
    };
    if (order(one) < order(other)) best = i;
  }
  return best;
}

std::optional<std::size_t> fastest(std::span<const Measured> measured, const Work& work) {
  std::optional<std::size_t> best;
  double least = 0;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    if (!counts(measured[i])) continue;
    const double seconds = time_of_run(measured[i], work.events, work.start_seconds).value;
    if (best && seconds >= least) continue;
    best = i;
    least = seconds;
  }
  return best;
}

}  // namespace orrery::advise
