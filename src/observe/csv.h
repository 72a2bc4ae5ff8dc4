// SPDX-License-Identifier: Apache-2.0
//
// Fields of CSV files (RFC 4180).
#pragma once

#include <string>
#include <string_view>

namespace orrery {

/// In quotation marks where a comma, a quotation mark or an end of line makes that necessary.
std::string csv_text(std::string_view text);

}  // namespace orrery
