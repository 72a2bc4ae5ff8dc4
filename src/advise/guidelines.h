// SPDX-License-Identifier: Apache-2.0
//
// Findings of S. B. Yoginath on simulations on rented virtual machines ("Virtual time-aware virtual
// machine systems", dissertation, Georgia Institute of Technology, 2014, chapter 5), as far as they
// apply to the measurements here, and with figures from here: if cost matters, the largest machine
// is no longer the obvious choice, and more executors than cores cost more than expected.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "advise/configuration.h"
#include "advise/offers.h"

namespace orrery::advise {

struct Guideline {
  std::string name;  ///< "oversubscription": fixed names
  std::string text;
};

/// `chosen`: index in `measured` of the fastest. `offers` may be empty.
std::vector<Guideline> guidelines(std::span<const Measured> measured, std::size_t chosen,
                                  std::span<const Offer> offers, unsigned cores);

}  // namespace orrery::advise
