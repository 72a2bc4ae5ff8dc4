// SPDX-License-Identifier: Apache-2.0
#include "study/inputs_now.h"

#include <fstream>
#include <iterator>

#include "observe/input_digest.h"

namespace orrery::study {

bool InputsNow::are_those_of(const nlohmann::ordered_json& report) {
  const auto inputs = report.find("inputs");
  if (inputs == report.end()) return true;
  for (const auto& one : *inputs)
    if (digest_of(one.value("path", "")) != one.value("xxh3_128", "")) return false;
  return true;
}

const std::string& InputsNow::digest_of(const std::string& path) {
  const auto [found, is_new] = digests_.try_emplace(path);
  if (is_new) {
    std::ifstream file(path, std::ios::binary);
    if (file) found->second = input_digest(std::string(std::istreambuf_iterator<char>(file), {}));
  }
  return found->second;
}

}  // namespace orrery::study
