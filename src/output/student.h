// SPDX-License-Identifier: Apache-2.0
//
// Student's t distribution, for the confidence intervals of means of few replications.
//
// A study has whole degrees of freedom, for which the distribution is a finite sum of elementary
// terms (M. Abramowitz, I. Stegun, "Handbook of Mathematical Functions", 1964, 26.7.3 and 26.7.4).
// The sum takes a dozen lines; all its terms are positive, so no cancellation occurs. A library
// would add the incomplete beta function for real degrees of freedom, which Orrery does not need.
#pragma once

#include <cstdint>

namespace orrery {

/// The probability that |T| < t, for t >= 0 and 1 or more degrees of freedom.
double student_probability(double t, std::uint64_t degrees);

/// The t for which -t < T < t has that probability (between 0 and 1, both excluded): 2.262 for 0.95
/// and 9.
double student_quantile(double probability, std::uint64_t degrees);

/// The precision of an interval mean +/- half_width: half_width / |mean|. It is infinite if the
/// mean is 0, and if the half-width is 0, since equal values show nothing about the variance of
/// others.
double relative_precision(double half_width, double mean);

}  // namespace orrery
