// SPDX-License-Identifier: Apache-2.0
#include "qemu_host.h"

#include <vector>

#include "../toml_table.h"
#include "../topology.h"

namespace orrery::lab {
namespace {

constexpr std::string_view kAdvice =
    "; './dev lab --qemu' builds what the topologies of models/lab name";

std::string name_of(const ElfKind& kind) {
  for (const QemuArchitecture& one : kQemuArchitectures)
    if (one.programs == kind) return std::string(one.name);
  return "another architecture (" + std::to_string(kind.machine) + " in its ELF header)";
}

/// `what` is a program of this kind, or has programs of this kind.
void check_architecture(const TomlTable& table, std::string_view key, const std::string& what,
                        const ElfKind& kind, const QemuArchitecture& architecture) {
  if (kind != architecture.programs)
    table.fail_at(key, what + " is for " + name_of(kind) + ", and this host has arch = \"" +
                           std::string(architecture.name) + "\"");
}

void check_image(const TomlTable& table, const QemuHost& host) {
  const std::string what = "'" + host.image.string() + "'";
  const auto kind = elf_kind(host.image);
  if (!kind || kind->bits != 32)
    table.fail_at("image", what + " is no program of 32 bits in the format ELF");
  check_architecture(table, "image", what, *kind, host.kind());
}

/// Of a file, another program finds out the architecture: that which makes the root, or the host.
void check_root(const TomlTable& table, const QemuHost& host) {
  const auto kind = elf_kind_below(host.root, "bin/sh");
  if (kind)
    check_architecture(table, "root", "'" + host.root.string() + "' (its /bin/sh)", *kind,
                       host.kind());
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
  check_root(table, host.qemu);
  host.qemu.processors = static_cast<unsigned>(table.integer("processors", 1, 16, 1));
  host.qemu.ipv6 = table.yes_or_no("ipv6", true);
  read_programs(table, host);
}

/// How to get a root for a host.
std::string advice_on_root(const QemuArchitecture& architecture) {
  const std::string debian(architecture.debian);
  return ": a folder, a squashfs or an image of containers that is for " + debian +
         ", such as the folder that \"mmdebstrap --variant=extract --architectures=" + debian +
         " --include='?essential' --include=iproute2 trixie FOLDER\" makes";
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
                             (architecture.has_linux() ? "Linux" : "an image"));
  };
  if (architecture.has_linux()) {
    for (const std::string_view key : kOfImages) refuse(key);
  } else {
    for (const std::string_view key : kOfLinux) refuse(key);
  }
  for (const std::string_view key : {"arch", "speed", architecture.has_linux() ? "root" : "image"})
    if (!table.has(key))
      table.fail("a host with machine = \"qemu\" needs '" + std::string(key) + "'" +
                 (key == "root" ? advice_on_root(architecture) : ""));
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
