// SPDX-License-Identifier: Apache-2.0
//
// What stands in a report for the content of an input file (RunRecord::inputs).
#pragma once

#include <string>
#include <string_view>

namespace orrery {

/// XXH3, 128 bits (Collet), in 32 hexadecimal digits: against slips, not against forgers.
std::string input_digest(std::string_view content);
/// The same of a file; empty if it cannot be read.
std::string input_digest_of(const std::string& path);

}  // namespace orrery
