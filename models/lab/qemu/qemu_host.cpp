// SPDX-License-Identifier: Apache-2.0
#include "qemu_host.h"

#include <array>
#include <cstring>
#include <fstream>
#include <vector>

#include "../toml_table.h"
#include "../topology.h"

namespace orrery::lab {
namespace {

/// The architecture for which a program is (ELF specification: class, byte order, e_machine), or ""
/// if the file is no program of 32 bits.
std::string elf_architecture(const std::filesystem::path& path) {
  constexpr std::size_t kMachine = 18;
  constexpr unsigned char kBegin[] = {0x7f, 'E', 'L', 'F', 1, 1};
  std::array<unsigned char, kMachine + 2> header{};
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(header.data()), header.size());
  if (!file || std::memcmp(header.data(), kBegin, sizeof kBegin) != 0) return "";
  const unsigned machine = header[kMachine] + 256U * header[kMachine + 1];
  for (const QemuArchitecture& one : kQemuArchitectures)
    if (one.elf_machine == machine) return std::string(one.name);
  return "another architecture (" + std::to_string(machine) + " in its ELF header)";
}

void check_image(const TomlTable& table, const QemuHost& host) {
  const std::string name(kQemuArchitectures[host.architecture].name);
  const std::string is_for = elf_architecture(host.image);
  if (is_for.empty())
    table.fail_at("image",
                  "'" + host.image.string() + "' is no program of 32 bits in the format ELF");
  if (is_for != name)
    table.fail_at("image", "'" + host.image.string() + "' is for " + is_for +
                               ", and this host has arch = \"" + name + "\"");
}

}  // namespace

void read_qemu_host(const TomlTable& table, Host& host) {
  constexpr std::int64_t kLeastSpeed = 1'000, kMostSpeed = 10'000'000'000;
  QemuHost& qemu = host.qemu;
  // The machines' own firmware tables, the arguments and an image lie in the first 4 MiB.
  host.memory_megabytes = static_cast<unsigned>(table.integer("memory", 4, 1024, 16));
  std::vector<std::string_view> names;
  for (const QemuArchitecture& one : kQemuArchitectures) names.push_back(one.name);
  for (const std::string_view key : {"arch", "speed", "image"})
    if (!table.has(key))
      table.fail("a host with machine = \"qemu\" needs '" + std::string(key) + "'");
  qemu.architecture = table.choice("arch", names);
  const std::int64_t speed = table.frequency("speed");
  if (speed < kLeastSpeed || speed > kMostSpeed)
    table.fail_at("speed", "'speed' is 1 kHz to 10 GHz, in instructions a second");
  qemu.instructions_per_s = static_cast<std::uint64_t>(speed);
  qemu.image = table.existing_file("image", table.text("image"));
  check_image(table, qemu);
  qemu.arguments = table.text("arguments", "");
  if (qemu.arguments.size() > QemuHost::kMostArguments)
    table.fail_at("arguments",
                  "'arguments' has at most " + std::to_string(QemuHost::kMostArguments) + " bytes");
}

}  // namespace orrery::lab
