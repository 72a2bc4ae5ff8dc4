// SPDX-License-Identifier: Apache-2.0
#include "uml_host.h"

#include "../toml_table.h"
#include "../topology.h"

namespace orrery::lab {

void read_uml_host(const TomlTable& table, Host& host) {
  host.memory_megabytes = static_cast<unsigned>(table.integer("memory", 16, 4096, 32));
  host.uml.system_call_ns = table.time("system_call", 0);
  host.uml.packet_ns = table.time("packet", 0);
  if (table.has("root")) host.uml.root = table.existing_file("root", table.text("root"));
  host.uml.ipv6 = table.yes_or_no("ipv6", true);
  read_programs(table, host);
}

}  // namespace orrery::lab
