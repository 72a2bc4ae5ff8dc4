// SPDX-License-Identifier: Apache-2.0
//
// What an archive of an image says about the image: its layers, from the lowest, and its
// configuration (Docker Image Specification v1.3; OCI Image Format Specification 1.1).
#pragma once

#include <string>
#include <vector>

#include "archive.h"

namespace orrery::lab::image {

struct Manifest {
  std::vector<std::string> layers;       ///< names in the archive
  std::vector<std::string> environment;  ///< "NAME=VALUE"
  std::vector<std::string> command;      ///< entry point and arguments; may be empty
  std::string user, folder;              ///< of the command; may be empty
};

/// Throws ImageError, also if the image is for another architecture, or if there are several for this.
Manifest read_manifest(const OuterArchive& archive, const std::string& architecture);

}  // namespace orrery::lab::image
