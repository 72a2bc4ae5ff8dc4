// SPDX-License-Identifier: Apache-2.0
//
// The files of a QEMU host with Linux. Its root is a read-only file system in a memory-mapped disk
// (squashfs in an NVDIMM; root_image.h), so hosts share the machine's memory for the root. What differs between hosts, the kernel unpacks into the host's memory at its start.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "../root_image.h"
#include "../topology.h"

namespace orrery::lab {

/// Writes the archive that the host's kernel unpacks: guest/init.c, and what init finds in /lab.
/// `programs`: by their names there; `config`: of the root.
void write_start_archive(const Topology& topology, const Host& host,
                         const std::map<std::string, std::filesystem::path>& programs,
                         const ImageConfig& config, const std::filesystem::path& to);

}  // namespace orrery::lab
