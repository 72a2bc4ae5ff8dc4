// SPDX-License-Identifier: Apache-2.0
//
// Notification of the input files that models read, so that a report can list the inputs of a run.
// The listener is per thread, since models read files by a plain function (orrery/input_file.h).
#pragma once

#include <string>
#include <string_view>

namespace orrery {

class InputListener {
 public:
  /// Called after a file was read, with its content on disk, in the mode of the reader.
  virtual void heard(const std::string& path, std::string_view content) = 0;

 protected:
  ~InputListener() = default;
};

/// Makes `listener` this thread's listener until the end of the scope.
class Listening {
 public:
  explicit Listening(InputListener& listener);
  ~Listening();
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;

 private:
  InputListener* const before_;
};

}  // namespace orrery
