// SPDX-License-Identifier: Apache-2.0
//
// The keys of a [[host]] whose machine is User Mode Linux (`machine = "uml"`).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>

namespace orrery::lab {

class TomlTable;
struct Host;

struct UmlHost {
  std::int64_t system_call_ns = 0, packet_ns = 0;  ///< costs in virtual time
  std::optional<std::filesystem::path> root;       ///< instead of the machine's files
  bool ipv6 = true;
};

inline constexpr std::string_view kUmlKeys[] = {"memory",  "system_call", "packet", "setup",
                                                "program", "files",       "root",   "ipv6"};

/// Reads these keys.
void read_uml_host(const TomlTable& table, Host& host);

}  // namespace orrery::lab
