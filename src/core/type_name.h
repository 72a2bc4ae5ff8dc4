// SPDX-License-Identifier: Apache-2.0
//
// Names of classes, for messages.
#pragma once

#include <string>
#include <typeinfo>

namespace orrery {

/// The name of a linker symbol as in the source; the symbol itself if it is not a C++ symbol.
std::string demangled(const char* symbol);

/// The name of a class as in the source, "(anonymous namespace)::Desk".
std::string type_name(const std::type_info& type);
/// The same without namespaces.
std::string short_type_name(const std::type_info& type);

}  // namespace orrery
