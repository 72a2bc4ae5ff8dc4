// SPDX-License-Identifier: Apache-2.0
//
// People at locations who infect each other and travel, after the reaction and diffusion of
// Perumalla and Seal (Discrete event modeling and massively parallel execution of epidemic outbreak
// phenomena, Simulation 88(7), 2012), a workload of the thesis: much happens within a location, and
// few journeys leave the neighbourhood, so few messages leave a rank.
//
// An event is a person who arrives or leaves. Whether one who leaves has caught it depends on who
// is there meanwhile, so an event out of order changes what follows from it.
#pragma once

#include "setting.h"

namespace oversubscribed {

class Epidemic {
 public:
  struct State {
    std::int64_t present, contagious, caught;
  };
  static constexpr Ticks kLookahead = 100;  ///< the shortest journey

  explicit Epidemic(const Setting& setting) : lps_(setting.lps) {}

  void begin(std::uint32_t lp, State& state, Draws& draws, Sends& sends) const {
    state.present = kPeople;
    for (unsigned i = 0; i < kPeople; ++i) {
      const bool ill = i == 0 && lp % kOutbreaks == 0;
      if (ill) ++state.contagious;
      sends.to(lp, 1 + draws.exponential(kStay), kLeaves,
               Person{ill ? kIll : kHealthy, 0}.packed());
    }
  }
  void handle(const Event& event, State& state, Draws& draws, Sends& sends) const {
    Person person(event.data);
    if (event.kind == kArrives)
      arrive(event, person, state, draws, sends);
    else
      leave(event, person, state, draws, sends);
  }

 private:
  static constexpr std::uint16_t kArrives = 0, kLeaves = 1;
  static constexpr unsigned kPeople = 4;      ///< at a location, at first
  static constexpr unsigned kOutbreaks = 16;  ///< at each such location
  static constexpr Ticks kStay = 2000, kIncubation = 4000, kIllness = 12'000;
  static constexpr double kContagion = 0.6, kFar = 0.05;
  static constexpr std::uint32_t kNear = 4;
  enum Stage : std::uint8_t { kHealthy, kIncubating, kIll, kImmune };

  struct Person {
    Stage stage;
    Ticks since;
    Person(Stage is, Ticks from) : stage(is), since(from) {}
    explicit Person(std::uint64_t packed)
        : stage(static_cast<Stage>(packed & 3)), since(static_cast<Ticks>(packed >> 2)) {}
    std::uint64_t packed() const { return static_cast<std::uint64_t>(since) << 2 | stage; }
    void age(Ticks now) {
      if (stage == kIncubating && now - since >= kIncubation) *this = {kIll, since + kIncubation};
      if (stage == kIll && now - since >= kIllness) *this = {kImmune, since + kIllness};
    }
  };

  /// As whatever they are when they come, people count until they leave.
  void arrive(const Event& event, Person person, State& state, Draws& draws, Sends& sends) const {
    person.age(event.time);
    ++state.present;
    if (person.stage == kIll) ++state.contagious;
    sends.to(event.lp, 1 + draws.exponential(kStay), kLeaves, person.packed());
  }
  void leave(const Event& event, Person person, State& state, Draws& draws, Sends& sends) const {
    const double met = static_cast<double>(state.contagious) / static_cast<double>(state.present);
    --state.present;
    if (person.stage == kIll) --state.contagious;
    if (draws.happens(kContagion * met) && person.stage == kHealthy) {
      person = {kIncubating, event.time};
      ++state.caught;
    }
    person.age(event.time);
    sends.to(destination(event.lp, draws), kLookahead + draws.exponential(kLookahead), kArrives,
             person.packed());
  }
  std::uint32_t destination(std::uint32_t from, Draws& draws) const {
    if (draws.happens(kFar)) return draws.below(lps_);
    return (from + lps_ - kNear % lps_ + draws.below(2 * kNear + 1)) % lps_;
  }

  const std::uint32_t lps_;
};

}  // namespace oversubscribed
