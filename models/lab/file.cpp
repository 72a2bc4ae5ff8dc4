// SPDX-License-Identifier: Apache-2.0
#include "file.h"

#include <fstream>

#include "orrery/error.h"

namespace orrery::lab {

void write_file(const std::filesystem::path& path, std::string_view text) {
  std::ofstream file(path);
  file << text;
  file.close();
  if (!file) throw UsageError("'" + path.string() + "' cannot be written");
}

}  // namespace orrery::lab
