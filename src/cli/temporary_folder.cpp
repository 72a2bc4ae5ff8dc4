// SPDX-License-Identifier: Apache-2.0
#include "cli/temporary_folder.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "orrery/error.h"

namespace orrery::cli {

namespace fs = std::filesystem;

TemporaryFolder::TemporaryFolder(const std::string& name) {
  std::error_code unknown;
  fs::path base = fs::temp_directory_path(unknown);
  if (unknown) base = "/tmp";
  path_ = (base / (name + "-XXXXXX")).string();
  if (mkdtemp(path_.data()) == nullptr)
    throw UsageError(
        fmt::format("cannot make a folder for runs in '{}': {}; name another with TMPDIR",
                    base.string(), std::strerror(errno)));
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace orrery::cli
