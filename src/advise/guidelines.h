// SPDX-License-Identifier: Apache-2.0
//
// What S. B. Yoginath found for simulations on rented virtual machines ("Virtual time-aware virtual
// machine systems", dissertation, Georgia Institute of Technology, 2014, chapter 5), as far as it
// applies to what was measured here, and with these figures: where cost counts, the largest machine
// is no longer the obvious choice, and executors that outnumber the cores cost more than they seem
// to.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "advise/configuration.h"
#include "advise/offers.h"

namespace orrery::advise {

struct Guideline {
  std::string name;  ///< "oversubscription": does not change
  std::string text;
};

/// `chosen`: of `measured`, the fastest here. `offers` may be empty.
std::vector<Guideline> guidelines(std::span<const Measured> measured, std::size_t chosen,
                                  std::span<const Offer> offers, unsigned cores);

}  // namespace orrery::advise
