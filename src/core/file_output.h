// SPDX-License-Identifier: Apache-2.0
//
// Writing to a descriptor until all is written, which write(2) alone does not promise.
#pragma once

#include <cstddef>
#include <string>

namespace orrery {

/// False with errno if the system refuses; then a part may be written.
bool write_fully(int file, const void* bytes, std::size_t count);
/// What is in the file is on the disk. False with errno; a target that cannot be synchronised (a
/// pipe, a file system that has no such thing) is as safe as it gets.
bool synchronise(int file);
/// The same without what only tells when it was changed.
bool synchronise_contents(int file);

/// Throws UsageError with the reason that errno has.
[[noreturn]] void refuse_to_write(const std::string& path);

}  // namespace orrery
