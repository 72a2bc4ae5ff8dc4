// SPDX-License-Identifier: Apache-2.0
//
// The keys of a [[host]] whose machine is QEMU (`machine = "qemu"`): an image without an operating
// system, on a processor that executes a given number of instructions a second.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace orrery::lab {

class TomlTable;
struct Host;

/// An architecture of hosts: QEMU's machine `virt` of that name.
struct QemuArchitecture {
  std::string_view name;
  std::uint16_t elf_machine;         ///< of its images (ELF, e_machine)
  std::uint64_t arguments_address;   ///< where an image finds its arguments
  std::string_view machine_options;  ///< of QEMU's -M virt
  std::size_t most_cards;            ///< that the machine has room for
  bool has_firmware;                 ///< QEMU wants one unless it is told that there is none
};

inline constexpr QemuArchitecture kQemuArchitectures[] = {
    {"arm", 40, 0x4010'0000, ",dtb-randomness=off", 32, false},
    {"riscv32", 243, 0x8010'0000, "", 8, true},
};

struct QemuHost {
  static constexpr std::size_t kMostArguments = 4'095;

  std::size_t architecture = 0;  ///< index in kQemuArchitectures
  std::uint64_t instructions_per_s = 0;
  std::filesystem::path image;
  std::string arguments;
};

inline constexpr std::string_view kQemuKeys[] = {"memory", "arch", "speed", "image", "arguments"};

/// Reads these keys. Refuses an image that is not for this architecture.
void read_qemu_host(const TomlTable& table, Host& host);

}  // namespace orrery::lab
