// SPDX-License-Identifier: Apache-2.0
#include "advise/guidelines.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "output/number_text.h"

namespace orrery::advise {
namespace {

double per_event(const Measured& one) {
  return one.fit()->per_event;
}

/// The fastest configuration for which `counts` is true; null: none.
template <class Counts>
const Measured* fastest_of(std::span<const Measured> measured, Counts counts) {
  const Measured* best = nullptr;
  for (const Measured& one : measured)
    if (!one.samples.empty() && counts(one) &&
        (best == nullptr || per_event(one) < per_event(*best)))
      best = &one;
  return best;
}

bool is_alone(const Measured& one) {
  return !one.beyond_cores && one.configuration.executors() == 1;
}
bool is_parallel(const Measured& one) {
  return !one.beyond_cores && one.configuration.executors() > 1;
}

/// The processor time of several cores compared with one core, and the consequence for several
/// runs.
std::optional<Guideline> core_time(std::span<const Measured> measured) {
  const Measured* const alone = fastest_of(measured, is_alone);
  const Measured* const parallel = fastest_of(measured, is_parallel);
  if (alone == nullptr || parallel == nullptr) return std::nullopt;
  const unsigned executors = parallel->configuration.executors();
  const double time = per_event(*parallel) / per_event(*alone);
  std::string text = fmt::format(
      "{} takes {:.2f} times the time of {} and keeps {} cores: {:.2f} times the core time.",
      parallel->configuration.name(), time, alone->configuration.name(), executors,
      time * executors);
  if (time * executors > 1)
    text += fmt::format(
        " If there are several replications, run one on each core at the same time ('orrery "
        "sweep'): this is {:.2f} times as fast as one after the other on several cores.",
        time * executors);
  return Guideline{"core-time", std::move(text)};
}

std::optional<Guideline> oversubscription(std::span<const Measured> measured,
                                          const Measured& beyond, unsigned cores) {
  const bool as_ranks = beyond.configuration.ranks > 1;
  const Measured* const within = fastest_of(measured, [&](const Measured& one) {
    return is_parallel(one) && one.configuration.engine == beyond.configuration.engine &&
           (one.configuration.ranks > 1) == as_ranks;
  });
  if (within == nullptr) return std::nullopt;
  const double factor = per_event(beyond) / per_event(*within);
  const unsigned executors = beyond.configuration.executors();
  std::string text =
      fmt::format("{} {} on {} core{} take {:.2f} times the time of {} ({} executors a core).",
                  executors, as_ranks ? "ranks" : "workers", cores, cores == 1 ? "" : "s", factor,
                  within->configuration.executors(), executors / std::max(1U, cores));
  text += factor > 1.1 ? " Use at most one for each core, and fewer if other programs use the "
                         "machine."
                       : " This costs next to nothing, because extra workers are ignored. Extra "
                         "processes of other simulators cost more (companions/llf/README.md).";
  return Guideline{as_ranks ? "oversubscription-ranks" : "oversubscription-workers",
                   std::move(text)};
}

/// Compares the cheapest and the fastest efficient offer.
std::optional<Guideline> bigger_machine(std::span<const Offer> offers) {
  const Offer *cheapest = nullptr, *fastest = nullptr;
  for (const Offer& one : offers) {
    if (!one.is_efficient) continue;
    if (cheapest == nullptr || one.price < cheapest->price) cheapest = &one;
    if (fastest == nullptr || one.seconds.value < fastest->seconds.value) fastest = &one;
  }
  if (cheapest == nullptr || offers.size() < 2) return std::nullopt;
  if (cheapest == fastest)
    return Guideline{"bigger-machine",
                     fmt::format("{} is the fastest and the cheapest: compare prices of the run, "
                                 "not of an hour.",
                                 fastest->machine.name)};
  if (cheapest->machine.price_per_hour <= 0) return std::nullopt;
  const double times_price = fastest->machine.price_per_hour / cheapest->machine.price_per_hour;
  const double times_fast = cheapest->seconds.value / fastest->seconds.value;
  return Guideline{
      "bigger-machine",
      fmt::format("An hour of {} costs {:.2f} times one of {}, and the run is {:.2f} times as fast "
                  "there{}, so it costs {:.2f} times as much. It would be cheaper if it were more "
                  "than {:.2f} times as fast.",
                  fastest->machine.name, times_price, cheapest->machine.name, times_fast,
                  fastest->is_extrapolated ? " (extrapolated)" : "", times_price / times_fast,
                  times_price)};
}

/// A machine with cores that the run does not use.
std::optional<Guideline> idle_cores(const Measured& chosen, std::span<const Offer> offers,
                                    unsigned cores) {
  for (const Offer& one : offers) {
    if (!one.is_efficient || one.configuration.executors() >= one.machine.cores) continue;
    return Guideline{
        "idle-cores",
        fmt::format("On {} the run uses {} of {} cores: with one run on each core at "
                    "the same time, the runs share its price.",
                    one.machine.name, one.configuration.executors(), one.machine.cores)};
  }
  const unsigned used = chosen.configuration.executors();
  if (!offers.empty() || used >= cores) return std::nullopt;
  return Guideline{
      "idle-cores",
      fmt::format("This run is fastest on {} of {} cores. Use a machine with fewer "
                  "cores of the same speed, or several runs at the same time on this one.",
                  used, cores)};
}

}  // namespace

std::vector<Guideline> guidelines(std::span<const Measured> measured, std::size_t chosen,
                                  std::span<const Offer> offers, unsigned cores) {
  std::vector<Guideline> all;
  const auto add = [&](std::optional<Guideline> one) {
    if (one) all.push_back(std::move(*one));
  };
  add(core_time(measured));
  for (const Measured& one : measured)
    if (one.beyond_cores && !one.samples.empty()) add(oversubscription(measured, one, cores));
  add(bigger_machine(offers));
  add(idle_cores(measured[chosen], offers, cores));
  return all;
}

}  // namespace orrery::advise
