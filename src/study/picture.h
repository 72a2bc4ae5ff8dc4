// SPDX-License-Identifier: Apache-2.0
//
// A picture of a measure against a parameter: a line through the means of each series, in a band of
// its intervals. It is SVG without scripts, fonts or references, so that it opens anywhere, scales,
// and lies in a repository as text; and it needs nothing but this program.
//
// The horizontal axis is the first parameter of the study whose values are all numbers of one unit,
// else the first parameter, whose values then stand side by side with bars instead of bands. The
// other parameters make the series. Colours are those of M. Okabe and K. Ito ("Color Universal
// Design", 2008), which people with any colour vision can tell apart.
#pragma once

#include <optional>
#include <string>

#include "study/study_result.h"

namespace orrery::study {

/// Nothing where no parameter varies, or no run has the measure.
std::optional<std::string> picture_of(const StudyResult& study, std::size_t measure);

}  // namespace orrery::study
