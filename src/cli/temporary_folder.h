// SPDX-License-Identifier: Apache-2.0
//
// The folder for the runs of a command without --out; it is deleted when the command ends.
#pragma once

#include <string>

namespace orrery::cli {

class TemporaryFolder {
 public:
  /// `name`: the beginning of the folder's name. Throws UsageError if the folder cannot be made.
  explicit TemporaryFolder(const std::string& name);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace orrery::cli
