// SPDX-License-Identifier: Apache-2.0
#include "output/input_digest.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <fstream>
#include <memory>
#include <new>
#include <vector>

namespace orrery {
namespace {

std::string text_of(const XXH128_hash_t& sum) {
  return fmt::format("{:016x}{:016x}", sum.high64, sum.low64);
}

}  // namespace

std::string input_digest(std::string_view content) {
  return text_of(XXH3_128bits(content.data(), content.size()));
}

/// Reads in blocks: each rank makes a digest of the program, which may have hundreds of megabytes.
std::string input_digest_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return "";
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(),
                                                                       &XXH3_freeState);
  if (state == nullptr) throw std::bad_alloc();
  XXH3_128bits_reset(state.get());
  std::vector<char> block(1 << 20);
  do {
    file.read(block.data(), static_cast<std::streamsize>(block.size()));
    XXH3_128bits_update(state.get(), block.data(), static_cast<std::size_t>(file.gcount()));
  } while (file);
  return text_of(XXH3_128bits_digest(state.get()));
}

}  // namespace orrery
