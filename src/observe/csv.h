// SPDX-License-Identifier: Apache-2.0
//
// Fields of CSV files (RFC 4180).
#pragma once

#include <string>

namespace orrery {

/// In quotation marks where a comma, a quotation mark or an end of line makes that necessary.
std::string csv_text(const std::string& text);

}  // namespace orrery
