// SPDX-License-Identifier: Apache-2.0
//
// The sentence about a thread's last failure. All code behind the C interface reports failures with
// say() and returns false, nullptr or LLF_ERROR, since a C program can catch no exception and must
// not need the C++ library.
#pragma once

namespace orrery::llf {

/// Arguments as for printf; the sentence stays until the thread's next one.
[[gnu::format(printf, 1, 2)]] void say(const char* format, ...);
/// The last sentence.
const char* said();

}  // namespace orrery::llf
