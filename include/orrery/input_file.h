// SPDX-License-Identifier: Apache-2.0
//
// Reading a text file that a user named, for models in `prepare()`. One function refuses all
// unsuitable paths: a pipe would hang the run, a device never ends, and an empty file would pass
// for input.
#pragma once

#include <string>
#include <string_view>

namespace orrery {

/// The content of the file at `path`, without a UTF-8 byte order mark. Throws UsageError if the
/// file cannot be read, is not a regular file, is empty, or is UTF-16 text. The error message puts
/// `what` ("config file") before the path.
std::string read_input_file(const std::string& path, std::string_view what = "");

}  // namespace orrery
