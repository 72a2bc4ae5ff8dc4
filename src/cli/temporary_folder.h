// SPDX-License-Identifier: Apache-2.0
//
// Where runs of a command without --out lie: a folder that goes when the command ends.
#pragma once

#include <string>

namespace orrery::cli {

class TemporaryFolder {
 public:
  /// `name`: what its name begins with. Throws UsageError if there can be none.
  explicit TemporaryFolder(const std::string& name);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace orrery::cli
