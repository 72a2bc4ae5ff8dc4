// SPDX-License-Identifier: Apache-2.0
#include "cli/input_digests.h"

#include <algorithm>

#include "memory/application_mode.h"
#include "output/input_digest.h"

namespace orrery::cli {

void InputDigests::heard(const std::string& path, std::string_view content) {
  const memory::PlatformMode platform;  // prepare() reads
  const auto known = std::any_of(files_.begin(), files_.end(),
                                 [&](const InputFile& one) { return one.path == path; });
  if (known) return;
  files_.push_back({std::string(path), content.size(), input_digest(content)});
}

}  // namespace orrery::cli
