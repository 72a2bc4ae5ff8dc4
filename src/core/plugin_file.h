// SPDX-License-Identifier: Apache-2.0
//
// Where a shared object of the command's own lies that is loaded only by runs that want it: beside
// the command, where it was built; or where it was installed. By the standard library alone.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <string>

namespace orrery {

/// Empty if there is none that can be read.
inline std::string plugin_file(const std::string& name) {
  std::error_code error;
  const auto folder = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  for (const char* place : {".", "../" ORRERY_PLUGIN_DIR})
    if (const auto path = folder / place / name; access(path.c_str(), R_OK) == 0)
      return path.string();
  return {};
}

}  // namespace orrery
