// SPDX-License-Identifier: Apache-2.0
//
// Makes the folders of User Mode Linux hosts: what a host finds in /lab and /etc, and empty folders
// for its results.
#pragma once

#include <span>

#include "../topology.h"
#include "uml_settings.h"

namespace orrery::lab {

/// Programs that guest/build makes beside the hosts' kernel; hosts see them in /lab.
inline constexpr const char* kProgramsOfHosts[] = {"init", "off", "as", "shell", "olsrd"};

/// Makes the folders of hosts anew. Throws std::filesystem::filesystem_error, UsageError.
void prepare_uml_folders(const Topology& topology, std::span<const UmlSettings> hosts);

}  // namespace orrery::lab
