// SPDX-License-Identifier: Apache-2.0
//
// The keys of a [[host]] that is an unmodified virtual machine (`machine = "vm"`). Its processors run
// at this machine's own speed, and its clocks are those of this machine. So the laboratory, whose
// hosts have virtual time, refuses it: `orrery director net` runs it (companions/director).
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::lab {

class TomlTable;
struct Host;

struct VmHost {
  std::string program = "qemu-system-x86_64";
  std::filesystem::path image, kernel, initrd;  ///< empty: none
  std::string append;                           ///< command line of the kernel
  std::string ready;                            ///< text on the console when it has started
  std::string card = "virtio-net-pci";          ///< QEMU's device
  std::string accelerator;                      ///< "kvm" or "tcg"; empty: kvm if there is /dev/kvm
  std::vector<std::string> arguments;           ///< further ones of QEMU
  unsigned processors = 1;
  double weight = 1;  ///< time that it consumes for each unit of virtual time
};

inline constexpr std::string_view kVmKeys[] = {"memory",     "program",     "image",     "kernel",
                                               "initrd",     "append",      "ready",     "card",
                                               "processors", "accelerator", "arguments", "weight"};

/// Reads these keys.
void read_vm_host(const TomlTable& table, Host& host);

}  // namespace orrery::lab
