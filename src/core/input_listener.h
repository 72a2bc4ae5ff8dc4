// SPDX-License-Identifier: Apache-2.0
//
// Who wants to know which input files are read: a report says what a run was made from. It hangs
// off the thread, since models read their files by a plain function (orrery/input_file.h).
#pragma once

#include <string>
#include <string_view>

namespace orrery {

class InputListener {
 public:
  /// A file has been read, as it is on the disk. Called in the mode of whoever reads.
  virtual void heard(const std::string& path, std::string_view content) = 0;

 protected:
  ~InputListener() = default;
};

/// From here to the end of the scope this thread tells `listener`.
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
