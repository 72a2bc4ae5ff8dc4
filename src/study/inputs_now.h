// SPDX-License-Identifier: Apache-2.0
//
// Whether the input files of a finished run are still what they were, so that a study that goes on
// is of one input. Each file is read once, however many runs have read it.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace orrery::study {

class InputsNow {
 public:
  /// Of a run's report.
  bool are_those_of(const nlohmann::ordered_json& report);

 private:
  const std::string& digest_of(const std::string& path);

  std::map<std::string, std::string> digests_;  ///< by path; empty: it cannot be read
};

}  // namespace orrery::study
