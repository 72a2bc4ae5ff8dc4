// SPDX-License-Identifier: Apache-2.0
//
// Checks whether the input files of a finished run are unchanged, so that all runs of a resumed
// study have the same inputs. Each file is read once, for any number of runs.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace orrery::study {

class InputsNow {
 public:
  /// `report`: of a run.
  bool are_those_of(const nlohmann::ordered_json& report);

 private:
  const std::string& digest_of(const std::string& path);

  std::map<std::string, std::string> digests_;  ///< by path; empty: the file cannot be read
};

}  // namespace orrery::study
