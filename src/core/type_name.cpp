// SPDX-License-Identifier: Apache-2.0
#include "core/type_name.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

#include "orrery/event.h"

namespace orrery {

std::string demangled(const char* symbol) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(symbol, nullptr, nullptr, &status), &std::free);
  return status == 0 && text != nullptr ? std::string(text.get()) : std::string(symbol);
}

std::string type_name(const std::type_info& type) {
  return demangled(type.name());
}

std::string short_type_name(const std::type_info& type) {
  return std::string(detail::unqualified(type_name(type)));
}

}  // namespace orrery
