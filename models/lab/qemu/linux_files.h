// SPDX-License-Identifier: Apache-2.0
//
// The files of a QEMU host with Linux. Its root is a read-only file system in a memory-mapped disk
// (squashfs in an NVDIMM), made once from a folder and kept, so hosts share the machine's memory for
// the root. What differs between hosts, the kernel unpacks into the host's memory at its start.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "../topology.h"

namespace orrery::lab {

/// A disk in memory is a multiple of what Linux maps at once.
inline constexpr std::uintmax_t kDiskUnit = std::uintmax_t{128} << 20;

/// The root of a folder as a disk, which is made if `cache` has none of the folder's present state.
/// Throws UsageError and std::filesystem::filesystem_error.
std::filesystem::path root_disk(const std::filesystem::path& folder,
                                const std::filesystem::path& cache);

/// Writes the archive that the host's kernel unpacks: guest/init.c, and what init finds in /lab.
/// `programs`: by their names there.
void write_start_archive(const Topology& topology, const Host& host,
                         const std::map<std::string, std::filesystem::path>& programs,
                         const std::filesystem::path& to);

}  // namespace orrery::lab
