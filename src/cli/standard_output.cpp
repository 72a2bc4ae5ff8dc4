// SPDX-License-Identifier: Apache-2.0
#include "cli/standard_output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "core/text.h"
#include "orrery/error.h"

namespace orrery::cli {
namespace {

/// Standard output was closed when this process, or the process of orrery that started it, began.
bool was_closed = false;

[[noreturn]] void refuse(const char* reason) {
  throw UsageError(
      fmt::format("cannot write the results to standard output: {}; send them elsewhere", reason));
}

}  // namespace

void hold_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    const int flags = fcntl(stream, F_GETFL);
    const bool is_closed = flags < 0 && errno == EBADF;
    // A place holder stays open in ranks and in a process that is executed again.
    if (stream == STDOUT_FILENO && (is_closed || (flags & O_ACCMODE) == O_RDONLY))
      was_closed = true;
    // open() returns the lowest free number, which is the stream's.
    if (is_closed && open("/dev/null", stream == STDERR_FILENO ? O_WRONLY : O_RDONLY) != stream)
      return;
  }
}

void require_standard_output() {
  if (was_closed) refuse("it is closed");
}

void write_out(std::string_view text) {
  require_standard_output();
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) refuse(std::strerror(errno));
}

void flush_out() {
  if (std::fflush(stdout) != 0) refuse(std::strerror(errno));
  if (std::ferror(stdout) != 0) refuse("it failed");
}

int refuse(int code, const std::string& sentence) {
  std::fflush(stdout);
  fmt::print(stderr, "orrery: {}\n", printable(sentence));
  return code;
}

}  // namespace orrery::cli
