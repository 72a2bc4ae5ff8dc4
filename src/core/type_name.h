// SPDX-License-Identifier: Apache-2.0
//
// Names of classes, for messages.
#pragma once

#include <string>
#include <typeinfo>

namespace orrery {

/// A symbol of the linker as it is written in the source; the symbol itself if it is not one of
/// C++.
std::string demangled(const char* symbol);

/// A class's name as it is written in the source, "(anonymous namespace)::Desk".
std::string type_name(const std::type_info& type);
/// The same without namespaces.
std::string short_type_name(const std::type_info& type);

}  // namespace orrery
