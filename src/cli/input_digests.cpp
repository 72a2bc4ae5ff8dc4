// SPDX-License-Identifier: Apache-2.0
#include "cli/input_digests.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>

#include "memory/application_mode.h"

namespace orrery::cli {

void InputDigests::heard(const std::string& path, std::string_view content) {
  const memory::PlatformMode platform;  // prepare() reads
  const auto known = std::any_of(files_.begin(), files_.end(),
                                 [&](const InputFile& one) { return one.path == path; });
  if (known) return;
  const XXH128_hash_t sum = XXH3_128bits(content.data(), content.size());
  files_.push_back(
      {std::string(path), content.size(), fmt::format("{:016x}{:016x}", sum.high64, sum.low64)});
}

}  // namespace orrery::cli
