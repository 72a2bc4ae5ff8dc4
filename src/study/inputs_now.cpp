// SPDX-License-Identifier: Apache-2.0
#include "study/inputs_now.h"

#include "output/input_digest.h"

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
  if (is_new) found->second = input_digest_of(path);
  return found->second;
}

}  // namespace orrery::study
