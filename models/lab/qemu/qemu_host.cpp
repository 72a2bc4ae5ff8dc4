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

constexpr std::string_view kAdvice =
    "; './dev lab --qemu' builds what the topologies of models/lab name";

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

void read_image(const TomlTable& table, Host& host) {
  QemuHost& qemu = host.qemu;
  // The machines' own firmware tables, the arguments and an image lie in the first 4 MiB.
  host.memory_megabytes = static_cast<unsigned>(table.integer("memory", 4, 1024, 16));
  qemu.image = table.existing_file("image", table.text("image"), kAdvice);
  check_image(table, qemu);
  qemu.arguments = table.text("arguments", "");
  if (qemu.arguments.size() > QemuHost::kMostArguments)
    table.fail_at("arguments",
                  "'arguments' has at most " + std::to_string(QemuHost::kMostArguments) + " bytes");
}

void read_linux(const TomlTable& table, Host& host) {
  host.memory_megabytes = static_cast<unsigned>(table.integer("memory", 64, 4096, 128));
  host.qemu.root = table.existing_file("root", table.text("root"), kAdvice);
  host.qemu.processors = static_cast<unsigned>(table.integer("processors", 1, 16, 1));
  host.qemu.ipv6 = table.yes_or_no("ipv6", true);
  read_programs(table, host);
}

/// Keys of one architecture are refused for the others, and the least that each needs is asked for.
void check_keys(const TomlTable& table, const QemuArchitecture& architecture) {
  constexpr std::string_view kOfImages[] = {"image", "arguments"},
                             kOfLinux[] = {"root",  "setup", "program",
                                           "files", "ipv6",  "processors"};
  const auto refuse = [&](std::string_view key) {
    if (table.has(key))
      table.fail_at(key, "'" + std::string(key) + "' is for another 'arch' than " +
                             std::string(architecture.name) + ", which runs " +
                             (architecture.has_linux ? "Linux" : "an image"));
  };
  if (architecture.has_linux) {
    for (const std::string_view key : kOfImages) refuse(key);
  } else {
    for (const std::string_view key : kOfLinux) refuse(key);
  }
  for (const std::string_view key : {"arch", "speed", architecture.has_linux ? "root" : "image"})
    if (!table.has(key))
      table.fail("a host with machine = \"qemu\" needs '" + std::string(key) + "'");
}

}  // namespace

void read_qemu_host(const TomlTable& table, Host& host) {
  constexpr std::int64_t kLeastSpeed = 1'000, kMostSpeed = 10'000'000'000;
  QemuHost& qemu = host.qemu;
  std::vector<std::string_view> names;
  for (const QemuArchitecture& one : kQemuArchitectures) names.push_back(one.name);
  qemu.architecture = table.choice("arch", names);
  check_keys(table, kQemuArchitectures[qemu.architecture]);
  const std::int64_t speed = table.frequency("speed");
  if (speed < kLeastSpeed || speed > kMostSpeed)
    table.fail_at("speed", "'speed' is 1 kHz to 10 GHz, in instructions a second");
  qemu.instructions_per_s = static_cast<std::uint64_t>(speed);
  if (qemu.has_linux()) {
    read_linux(table, host);
  } else {
    read_image(table, host);
  }
}

}  // namespace orrery::lab
