// SPDX-License-Identifier: Apache-2.0
//
// Names for addresses of code and data, for messages. Only used when a run has ended anyway: it
// reads the symbol table of the file that an address was loaded from, because what is interesting
// in a model (functions and statics in unnamed namespaces) is not among the symbols that the
// dynamic linker knows.
#pragma once

#include <string>

namespace orrery::checker {

/// The demangled name of the function or variable at `address`, shortened; empty if unknown.
/// `offset`, if given, receives the distance from its start.
std::string symbol_at(const void* address, std::size_t* offset = nullptr);

/// "mm1.so": the file that `address` was loaded from; empty if unknown.
std::string file_of(const void* address);

}  // namespace orrery::checker
