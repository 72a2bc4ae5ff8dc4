// SPDX-License-Identifier: Apache-2.0
//
// Which input files a run has read and what was in them, as the report has it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/input_listener.h"
#include "observe/run_record.h"

namespace orrery::cli {

class InputDigests final : public InputListener {
 public:
  void heard(const std::string& path, std::string_view content) override;
  const std::vector<InputFile>& files() const { return files_; }

 private:
  std::vector<InputFile> files_;
};

}  // namespace orrery::cli
