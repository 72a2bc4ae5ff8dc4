// SPDX-License-Identifier: Apache-2.0
//
// The keys of a [[host]] whose machine is QEMU (`machine = "qemu"`): Linux, or an image without an
// operating system, on a processor that executes a given number of instructions a second.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "../elf_kind.h"

namespace orrery::lab {

class TomlTable;
struct Host;

/// An architecture of hosts: Linux on those of 64 bits, images without an operating system on the
/// others. QEMU's programs for 64 bits execute the like of 32 bits, too.
struct QemuArchitecture {
  std::string_view name;
  std::string_view emulator;        ///< whose name ends so
  std::string_view machine;         ///< QEMU's -M
  std::string_view processor;       ///< QEMU's -cpu
  ElfKind programs;                 ///< of its images, or of its roots
  std::uint64_t arguments_address;  ///< where an image finds its arguments
  std::string_view serial_line;     ///< its name in Linux
  std::string_view debian;          ///< its name at Debian, and in images of containers
  std::string_view firmware;        ///< QEMU's -bios; "": its own
  std::size_t most_cards;           ///< that the machine has room for

  bool has_linux() const { return programs.bits == 64; }
  /// Its cards are on a bus of PCI, its disks are NVDIMMs; else both are told by a device tree.
  bool is_pc() const { return name == "x86_64"; }
};

inline constexpr QemuArchitecture kQemuArchitectures[] = {
    {"arm",
     "aarch64",
     "virt,dtb-randomness=off",
     "cortex-a15",
     {32, 40},
     0x4010'0000,
     "",
     "",
     "",
     32},
    {"aarch64",
     "aarch64",
     "virt,gic-version=3",
     "neoverse-n1",
     {64, 183},
     0,
     "ttyAMA0",
     "arm64",
     "",
     32},
    {"riscv32", "riscv64", "virt", "rv32", {32, 243}, 0x8010'0000, "", "", "none", 8},
    {"riscv64",
     "riscv64",
     "virt",
     "rv64",
     {64, 243},
     0,
     "ttyS0",
     "riscv64",
     "/guest/lab/firmware/fw_dynamic.bin",
     8},
    {"x86_64", "x86_64", "q35,nvdimm=on", "qemu64", {64, 62}, 0, "ttyS0", "amd64", "", 16},
};

struct QemuHost {
  static constexpr std::size_t kMostArguments = 4'095;

  std::size_t architecture = 0;  ///< index in kQemuArchitectures
  std::uint64_t instructions_per_s = 0;
  std::filesystem::path image;  ///< without Linux
  std::string arguments;        ///< of the image
  std::filesystem::path root;   ///< with Linux: the folder or file that becomes its root
  bool ipv6 = true;             ///< with Linux
  unsigned processors = 1;      ///< with Linux; they share the instructions a second

  const QemuArchitecture& kind() const { return kQemuArchitectures[architecture]; }
  bool has_linux() const { return kind().has_linux(); }
};

inline constexpr std::string_view kQemuKeys[] = {"memory",    "arch", "speed",     "image",
                                                 "arguments", "root", "setup",     "program",
                                                 "files",     "ipv6", "processors"};

/// Reads these keys. Refuses an image, and the folder of a root, that is not for this architecture.
void read_qemu_host(const TomlTable& table, Host& host);

}  // namespace orrery::lab
