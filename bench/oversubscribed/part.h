// SPDX-License-Identifier: Apache-2.0
//
// The LPs of one rank, and the execution of an event: what all kernels do alike. An LP's chain is
// over all that it has executed in order, so that runs that commit the same can be told from
// others.
#pragma once

#include <cstdint>
#include <cstdio>
#include <vector>

#include "event.h"
#include "setting.h"

namespace oversubscribed {

template <class Model>
struct Lp {
  typename Model::State state{};
  std::uint64_t chain = 0;
};

template <class Model>
class Part {
 public:
  /// Ranks have blocks: neighbours in the model are mostly in one rank.
  Part(const Setting& setting, unsigned rank)
      : setting_(setting), model_(setting), first_(first_of(rank)), sends_(setting.end) {
    lps_.resize(first_of(rank + 1) - first_);
  }
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;
  ~Part() {
    if (burnt_ == 1) std::fprintf(stderr, "work cannot be left out\n");
  }

  std::size_t size() const { return lps_.size(); }
  std::size_t index(const Event& event) const { return event.lp - first_; }
  Lp<Model>& lp(std::size_t index) { return lps_[index]; }
  unsigned rank_of(std::uint32_t lp) const {
    return static_cast<unsigned>(std::uint64_t{lp} * setting_.ranks / setting_.lps);
  }

  /// Visits the events with which the LPs begin.
  template <class Visit>
  void begin(Visit&& visit) {
    for (std::size_t i = 0; i < lps_.size(); ++i) {
      const auto number = static_cast<std::uint32_t>(first_ + i);
      const Event start{0, mix(number + 1), number, 0, 0, 0};
      Draws draws(start);
      sends_.begin(start);
      model_.begin(number, lps_[i].state, draws, sends_);
      for (const Event& event : sends_.made()) visit(event);
    }
  }

  /// What the event sends, until the next is executed.
  const std::vector<Event>& execute(const Event& event) {
    Lp<Model>& lp = lps_[index(event)];
    lp.chain = mix(lp.chain + event.number) ^ mix(static_cast<std::uint64_t>(event.time)) ^
               mix(event.data + event.kind);
    for (unsigned i = 0; i < setting_.work; ++i) burnt_ = mix(burnt_ + i);
    Draws draws(event);
    sends_.begin(event);
    model_.handle(event, lp.state, draws, sends_);
    return sends_.made();
  }

  /// Of what the LPs have executed; the sum over all ranks does not depend on who has which.
  std::uint64_t fingerprint() const {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < lps_.size(); ++i) sum += mix(lps_[i].chain + first_ + i);
    return sum;
  }

 private:
  std::size_t first_of(unsigned rank) const {
    return (std::uint64_t{rank} * setting_.lps + setting_.ranks - 1) / setting_.ranks;
  }

  const Setting& setting_;
  const Model model_;
  const std::size_t first_;
  std::vector<Lp<Model>> lps_;
  Sends sends_;
  std::uint64_t burnt_ = 0;
};

}  // namespace oversubscribed
