// SPDX-License-Identifier: Apache-2.0
//
// Memory sizes as text with a unit ("512MiB", "4 GB"): parsing and formatting.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace orrery {

/// Parses "512MiB", "4 GB", "1.5G", "1048576". Nothing if the text is no size or is 2^63 or more.
std::optional<std::uint64_t> parse_bytes(std::string_view text);

/// The shortest text that parses as the same number: "1KiB", "65", "4GiB".
std::string exact_bytes_text(std::uint64_t bytes);

}  // namespace orrery
