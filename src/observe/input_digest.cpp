// SPDX-License-Identifier: Apache-2.0
#include "observe/input_digest.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <fstream>
#include <iterator>

namespace orrery {

std::string input_digest(std::string_view content) {
  const XXH128_hash_t sum = XXH3_128bits(content.data(), content.size());
  return fmt::format("{:016x}{:016x}", sum.high64, sum.low64);
}

std::string input_digest_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return file ? input_digest(std::string(std::istreambuf_iterator<char>(file), {})) : "";
}

}  // namespace orrery
