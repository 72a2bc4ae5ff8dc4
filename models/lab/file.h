// SPDX-License-Identifier: Apache-2.0
//
// Files: an open descriptor, closed by its owner, and a text file written as a whole.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <string_view>
#include <utility>

namespace orrery::lab {

class File {
 public:
  File() = default;
  explicit File(int descriptor) : descriptor_(descriptor) {}
  File(File&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  File& operator=(File&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~File() {
    if (descriptor_ >= 0) close(descriptor_);
  }

  bool is_open() const { return descriptor_ >= 0; }
  int get() const { return descriptor_; }

 private:
  int descriptor_ = -1;
};

/// Throws UsageError if the file cannot be written.
void write_file(const std::filesystem::path& path, std::string_view text);

}  // namespace orrery::lab
