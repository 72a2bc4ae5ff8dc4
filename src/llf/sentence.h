// SPDX-License-Identifier: Apache-2.0
//
// The sentence about a thread's last failure. Everything behind the C interface says its failures
// here and returns false, nullptr or LLF_ERROR: a C program can catch no exception, and is not to
// need the C++ library.
#pragma once

namespace orrery::llf {

/// As printf; the sentence stays until the next one of this thread.
[[gnu::format(printf, 1, 2)]] void say(const char* format, ...);
/// The last sentence.
const char* said();

}  // namespace orrery::llf
