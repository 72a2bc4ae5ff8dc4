// SPDX-License-Identifier: Apache-2.0
//
// Complete writes to a file descriptor: write(2) may write only a part.
#pragma once

#include <cstddef>
#include <string>

namespace orrery {

/// Returns false with errno set on failure; a part may then be written.
bool write_fully(int file, const void* bytes, std::size_t count);
/// Forces the file to the disk. Returns false with errno set on failure. Succeeds for targets that
/// cannot be synchronised (a pipe, some file systems).
bool synchronise(int file);
/// The same without metadata that reading does not need, such as the modification time (fdatasync).
bool synchronise_contents(int file);

/// Throws UsageError with the reason in errno.
[[noreturn]] void refuse_to_write(const std::string& path);

}  // namespace orrery
