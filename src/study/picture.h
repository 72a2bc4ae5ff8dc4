// SPDX-License-Identifier: Apache-2.0
//
// A chart of a measure against a parameter: a line through the means of each series, in a band of
// its confidence intervals. The chart is SVG without scripts, fonts or references, so that it opens
// anywhere, scales, and can be kept in a repository as text. This program needs no library to write
// it.
//
// The horizontal axis is the first parameter of the study whose values are all numbers of one unit.
// If there is none, it is the first parameter, whose values stand side by side, with error bars
// instead of bands. The other parameters make the series. Colours are those of M. Okabe and K. Ito
// ("Color Universal Design", 2008), which people with any colour vision can distinguish.
#pragma once

#include <optional>
#include <string>

#include "study/study_result.h"

namespace orrery::study {

/// Nothing if no parameter varies, or no run has the measure.
std::optional<std::string> picture_of(const StudyResult& study, std::size_t measure);

}  // namespace orrery::study
