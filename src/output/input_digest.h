// SPDX-License-Identifier: Apache-2.0
//
// Digests of input files for the report (RunRecord::inputs).
#pragma once

#include <string>
#include <string_view>

namespace orrery {

/// XXH3, 128 bits (Collet), in 32 hexadecimal digits: detects accidental changes, not forgery.
std::string input_digest(std::string_view content);
/// The digest of a file; empty if the file cannot be read.
std::string input_digest_of(const std::string& path);

}  // namespace orrery
