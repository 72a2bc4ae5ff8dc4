// SPDX-License-Identifier: Apache-2.0
//
// What a page takes from results.sqlite: histograms, time series, and of each table of the model
// its first rows and, where a column has a course over time, that course.
//
// Which columns have one is judged by their values. Where every time has as many rows as any other
// (or one, and times are equally far apart), the same things are looked at again and again:
// whatever changes there has a course, and what names the things does not change in the mean.
// Otherwise rows are of things that happen, at any time: then real numbers have a course, and whole
// numbers if the means of times differ by more than the numbers within them lead to expect (twice,
// in terms of variances), which names of things do not. A column that only repeats the time is left
// out.
#pragma once

#include <string>

#include "page/run_folder.h"

namespace orrery::page {

/// What cannot be read becomes a remark.
void read_results(const std::string& path, RunFolder& run);

}  // namespace orrery::page
