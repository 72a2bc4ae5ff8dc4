// SPDX-License-Identifier: Apache-2.0
#include "vm_host.h"

#include "../toml_table.h"
#include "../topology.h"

namespace orrery::lab {
namespace {

std::filesystem::path file_of(const TomlTable& table, std::string_view key) {
  return table.has(key) ? table.existing_file(key, table.text(key)) : std::filesystem::path();
}

}  // namespace

void read_vm_host(const TomlTable& table, Host& host) {
  VmHost& vm = host.vm;
  host.memory_megabytes = static_cast<unsigned>(table.integer("memory", 16, 1'048'576, 256));
  vm.program = table.text("program", vm.program);
  vm.image = file_of(table, "image");
  vm.kernel = file_of(table, "kernel");
  vm.initrd = file_of(table, "initrd");
  if (vm.image.empty() && vm.kernel.empty())
    table.fail("a virtual machine needs an 'image' (of its disk) or a 'kernel'");
  if (vm.kernel.empty() && (table.has("initrd") || table.has("append")))
    table.fail_at(table.has("initrd") ? "initrd" : "append",
                  "'initrd' and 'append' need a 'kernel'");
  vm.append = table.text("append", "");
  vm.ready = table.text("ready", "");
  vm.card = table.text("card", vm.card);
  if (table.has("accelerator"))
    vm.accelerator = table.choice("accelerator", {"kvm", "tcg"}) == 0 ? "kvm" : "tcg";
  vm.arguments = table.texts("arguments");
  vm.processors = static_cast<unsigned>(table.integer("processors", 1, 64, 1));
  vm.weight = table.real("weight", 0.01, 100, 1);
  if (host.has_own_clock())
    table.fail_at("clock", "a virtual machine's clock is that of this machine; leave 'clock' out");
}

}  // namespace orrery::lab
