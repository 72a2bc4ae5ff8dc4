// SPDX-License-Identifier: Apache-2.0
//
// Partition files: the part of each LP, as one line for each LP with the number of its part, in the
// order of the LPs. METIS' gpmetis writes the same format, so any partitioner can be used, and an
// engine's partition can be inspected, changed and used again. Parts are ranks if there are
// several, else workers. Empty lines and lines that begin with '#' or '%' are comments.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "run/execution/clusters.h"

namespace orrery {

/// What messages call the parts.
enum class PartKind : std::uint8_t { worker, rank };

/// Reads one part for each of `lps` LPs, each below `parts`. The LPs of each of the `clusters` must
/// be together. Adds a note about parts without LPs. Throws UsageError that names file and line.
std::vector<std::uint16_t> read_partition(const std::string& path, std::uint64_t lps,
                                          unsigned parts, PartKind kind, const Clusters& clusters,
                                          std::vector<std::string>& notes);
/// Throws UsageError if the file cannot be written.
void write_partition(const std::string& path, const std::vector<std::uint16_t>& part_of,
                     unsigned parts, PartKind kind);

}  // namespace orrery
