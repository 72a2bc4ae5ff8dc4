// SPDX-License-Identifier: Apache-2.0
#include "core/file_output.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "orrery/error.h"

namespace orrery {
namespace {

bool is_done(int result) {
  return result == 0 || errno == EINVAL || errno == EROFS;
}

}  // namespace

bool write_fully(int file, const void* bytes, std::size_t count) {
  const auto* from = static_cast<const char*>(bytes);
  while (count > 0) {
    const ssize_t written = ::write(file, from, count);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    from += written;
    count -= static_cast<std::size_t>(written);
  }
  return true;
}

bool synchronise(int file) {
  return is_done(fsync(file));
}

bool synchronise_contents(int file) {
  return is_done(fdatasync(file));
}

void refuse_to_write(const std::string& path) {
  throw UsageError(fmt::format("cannot write '{}': {}", path,
                               errno == ENOSPC ? "the disk is full" : std::strerror(errno)));
}

}  // namespace orrery
