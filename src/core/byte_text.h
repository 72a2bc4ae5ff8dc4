// SPDX-License-Identifier: Apache-2.0
//
// Sizes of memory as people write them: a number and a unit ("512MiB", "4 GB"), and back.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace orrery {

/// "512MiB", "4 GB", "1.5G", "1048576". Nothing if it is not such a text or 2^63 or more.
std::optional<std::uint64_t> parse_bytes(std::string_view text);

/// The shortest such text that reads back as the same number: "1KiB", "65", "4GiB".
std::string exact_bytes_text(std::uint64_t bytes);

}  // namespace orrery
