// SPDX-License-Identifier: Apache-2.0
//
// A digest of a file, or of a folder with all names, modes, links and contents in it, to compare
// what hosts see on several machines. Dates and owners do not count, since hosts do not see them.
#pragma once

#include <filesystem>
#include <string>

namespace orrery::lab {

/// Follows `path` if it is a link, and no link in it. Throws UsageError if something cannot be read.
std::string tree_digest(const std::filesystem::path& path);

}  // namespace orrery::lab
