// SPDX-License-Identifier: Apache-2.0
//
// The input files that a run has read, with digests of their contents, for the report.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/input_listener.h"
#include "output/run_record.h"

namespace orrery::cli {

class InputDigests final : public InputListener {
 public:
  void heard(const std::string& path, std::string_view content) override;
  const std::vector<InputFile>& files() const { return files_; }

 private:
  std::vector<InputFile> files_;
};

}  // namespace orrery::cli
