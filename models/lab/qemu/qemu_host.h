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

namespace orrery::lab {

class TomlTable;
struct Host;

/// An architecture of hosts. Linux runs on one, QEMU's machine q35; the others are QEMU's machine
/// `virt` of that name, for images without an operating system.
struct QemuArchitecture {
  std::string_view name;
  bool has_linux;
  std::uint16_t elf_machine;         ///< of its images (ELF, e_machine)
  std::uint64_t arguments_address;   ///< where an image finds its arguments
  std::string_view machine_options;  ///< of QEMU's -M virt
  std::size_t most_cards;            ///< that the machine has room for
  bool has_firmware;                 ///< QEMU wants one unless it is told that there is none
};

inline constexpr QemuArchitecture kQemuArchitectures[] = {
    {"arm", false, 40, 0x4010'0000, ",dtb-randomness=off", 32, false},
    {"riscv32", false, 243, 0x8010'0000, "", 8, true},
    {"x86_64", true, 0, 0, "", 16, false},
};

struct QemuHost {
  static constexpr std::size_t kMostArguments = 4'095;

  std::size_t architecture = 0;  ///< index in kQemuArchitectures
  std::uint64_t instructions_per_s = 0;
  std::filesystem::path image;  ///< without Linux
  std::string arguments;        ///< of the image
  std::filesystem::path root;   ///< with Linux: the folder that becomes its root
  bool ipv6 = true;             ///< with Linux
  unsigned processors = 1;      ///< with Linux; they share the instructions a second

  bool has_linux() const { return kQemuArchitectures[architecture].has_linux; }
};

inline constexpr std::string_view kQemuKeys[] = {"memory",    "arch", "speed",     "image",
                                                 "arguments", "root", "setup",     "program",
                                                 "files",     "ipv6", "processors"};

/// Reads these keys. Refuses an image that is not for this architecture.
void read_qemu_host(const TomlTable& table, Host& host);

}  // namespace orrery::lab
