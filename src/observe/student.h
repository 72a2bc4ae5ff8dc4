// SPDX-License-Identifier: Apache-2.0
//
// Student's t distribution, for the confidence intervals of means of few replications.
//
// A study has whole degrees of freedom, and for these the distribution is a finite sum of
// elementary terms (M. Abramowitz, I. Stegun, "Handbook of Mathematical Functions", 1964, 26.7.3
// and 26.7.4). That is a dozen lines whose every term is positive, so nothing cancels; a library
// would bring the incomplete beta function for real degrees of freedom that nobody here has.
#pragma once

#include <cstdint>

namespace orrery {

/// The probability that |T| < t, for t >= 0 and 1 or more degrees of freedom.
double student_probability(double t, std::uint64_t degrees);

/// The t with that probability, which lies between 0 and 1 without them: 2.262 for 0.95 and 9.
double student_quantile(double probability, std::uint64_t degrees);

}  // namespace orrery
