// SPDX-License-Identifier: Apache-2.0
//
// The path of a shared object of the command that only some runs load: beside the command in the
// build tree, or where it was installed. Uses the standard library only.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <string>

namespace orrery {

/// Empty if no such file can be read.
inline std::string plugin_file(const std::string& name) {
  std::error_code error;
  const auto folder = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  for (const char* place : {".", "../" ORRERY_PLUGIN_DIR})
    if (const auto path = folder / place / name; access(path.c_str(), R_OK) == 0)
      return path.string();
  return {};
}

}  // namespace orrery
