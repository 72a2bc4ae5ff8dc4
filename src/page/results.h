// SPDX-License-Identifier: Apache-2.0
//
// Reads the data of a page from results.sqlite: histograms, time series, and for each table of the
// model the first rows and the courses of columns over time.
//
// The values of a column decide whether it has a course. If every time has the same number of rows
// (or one row, at equal distances), the rows are samples of the same objects: a column whose mean
// changes has a course, and names of objects do not change in the mean. Otherwise the rows are
// occurrences at any time. Then real numbers have a course, and whole numbers have one if the means
// of times differ more than the values within times explain (twice as much, as a ratio of
// variances), which is not so for names. A column that only repeats the time has none.
#pragma once

#include <string>

#include "page/run_folder.h"

namespace orrery::page {

/// A part that cannot be read becomes a remark.
void read_results(const std::string& path, RunFolder& run);

}  // namespace orrery::page
