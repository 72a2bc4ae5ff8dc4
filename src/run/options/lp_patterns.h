// SPDX-License-Identifier: Apache-2.0
//
// LPs on the command line: numbers, ranges of numbers, and patterns of names, as in
// 'router*,5..9'. In a pattern `*` stands for any text and `?` for one byte, as in the shell; all
// other characters stand for themselves, since names such as host[3] are usual.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/lp_ranges.h"
#include "orrery/model.h"

namespace orrery {

/// LPs and their names, of a model or of a file.
struct NamedLps {
  std::uint64_t count = 0;
  std::function<std::string(LpId)> name_of;  ///< "" for an LP without a name
  std::string owner = "the model";           ///< in error messages
};
NamedLps named_lps(const Model& model);

/// The LPs of a list such as 'router*,5..9,12'. A number is always an LP's number. A pattern
/// matches the name, and the number of an LP without a name. Throws UsageError that names `flag`
/// for numbers of no LP, and for a pattern without an LP.
LpRanges read_lps(const std::string& flag, const std::string& text, const NamedLps& lps);
/// The LPs of one pattern, number or range.
LpRanges matching_lps(const std::string& flag, const std::string& pattern, const NamedLps& lps);
/// Numbers and ranges only.
LpRanges read_ranges(const std::string& flag, const std::string& text);

/// The first names of LPs, "router0, router1, router2, ..."; "" if no LP has a name.
std::string first_names(const NamedLps& lps);

}  // namespace orrery
