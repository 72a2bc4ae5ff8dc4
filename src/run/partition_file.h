// SPDX-License-Identifier: Apache-2.0
//
// Which part of a run has which LP, as a file: a line for each LP with the number of its part, in
// the order of the LPs. That is what METIS' own gpmetis writes, so any partitioner can be used, and
// what an engine chose can be looked at, changed and used again. Parts are ranks where there are
// several, else workers. Empty lines and those that begin with '#' or '%' are comments.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "run/clusters.h"

namespace orrery {

/// What `parts` are to be called in sentences.
enum class PartKind : std::uint8_t { worker, rank };

/// One part for each of `lps`, each below `parts`. `clusters`: those LPs have to be together. A
/// note tells of parts without LPs. Throws UsageError that names file and line.
std::vector<std::uint16_t> read_partition(const std::string& path, std::uint64_t lps,
                                          unsigned parts, PartKind kind, const Clusters& clusters,
                                          std::vector<std::string>& notes);
/// Throws UsageError.
void write_partition(const std::string& path, const std::vector<std::uint16_t>& part_of,
                     unsigned parts, PartKind kind);

}  // namespace orrery
