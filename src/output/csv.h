// SPDX-License-Identifier: Apache-2.0
//
// Fields of CSV files (RFC 4180).
#pragma once

#include <string>
#include <string_view>

namespace orrery {

/// Puts quotation marks around a text with a comma, a quotation mark or an end of line.
std::string csv_text(std::string_view text);

}  // namespace orrery
