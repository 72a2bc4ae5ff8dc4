// SPDX-License-Identifier: Apache-2.0
//
// Names for addresses of code and data, for messages. Slow: it reads the symbol table of the file
// that an address was loaded from, because functions and statics in unnamed namespaces, which are
// common in models, are not among the symbols of the dynamic linker. So it is mostly used when a
// run has ended.
#pragma once

#include <string>

namespace orrery::checker {

/// The demangled name of the function or variable at `address`, shortened; empty if unknown.
/// `offset`, if not null, receives the distance of `address` from its start, in bytes.
std::string symbol_at(const void* address, std::size_t* offset = nullptr);

/// "mm1.so": the file that `address` was loaded from; empty if unknown.
std::string file_of(const void* address);

}  // namespace orrery::checker
