// SPDX-License-Identifier: Apache-2.0
//
// The script that a Linux host's first shell executes: puts the topology's files in place, gives
// interfaces their addresses, runs `setup`, and starts the programs at their times. Programs of the
// laboratory and files lie in the host's /lab.
#pragma once

#include <filesystem>
#include <string>

#include "root_image.h"
#include "topology.h"

namespace orrery::lab {

/// `config`: of the image that is the host's root, with the environment of all commands, and the
/// command of programs without one.
std::string script_of(const Host& host, const ImageConfig& config = {});

/// Throws UsageError if a program has no command, and the image none of its own. `root`: the image.
void require_command(const Host& host, const ImageConfig& config,
                     const std::filesystem::path& root);

}  // namespace orrery::lab
