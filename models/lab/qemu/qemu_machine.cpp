// SPDX-License-Identifier: Apache-2.0
#include "qemu_machine.h"

#include <chrono>
#include <vector>

#include <fmt/format.h>

#include "../device_address.h"
#include "../lab.h"
#include "qemu_guest.h"

namespace orrery::lab {
namespace {

constexpr unsigned kOutMegabytes = 1, kConsoleMegabytes = 64;

/// QEMU translates into 32 MiB, and has 64 MiB and 32 threads for all else.
constexpr unsigned kTranslatedMegabytes = 32;
ControlGroups::Limits limits_of(const Host& host) {
  return {std::uint64_t{host.memory_megabytes + kTranslatedMegabytes + kOutMegabytes + 64} << 20,
          32};
}

/// Nothing here may depend on the machine, its clock or other threads. Cards send by a timer of the
/// virtual clock, at once.
std::vector<std::string> arguments_of(const Host& host, NodeId id, std::uint64_t seed) {
  const QemuHost& qemu = host.qemu;
  const QemuArchitecture& architecture = kQemuArchitectures[qemu.architecture];
  std::vector<std::string> words = {
      "qemu",
      "-M",
      fmt::format("virt{}", architecture.machine_options),
      "-m",
      std::to_string(host.memory_megabytes),
      "-accel",
      fmt::format("tcg,thread=single,tb-size={}", kTranslatedMegabytes),
      "-icount",
      fmt::format("speed={},sleep=off", qemu.instructions_per_s),
      "-rtc",
      "base=2023-11-14T22:13:20,clock=vm",
      "-seed",
      std::to_string(seed & 0x7fff'ffff),
      "-nodefaults",
      "-no-user-config",
      "-display",
      "none",
      "-kernel",
      "/guest/lab/image",
      "-device",
      fmt::format("loader,file=/guest/lab/arguments,addr={:#x},force-raw=on",
                  architecture.arguments_address),
      "-chardev",
      "stdio,id=console,signal=off",
      "-serial",
      "chardev:console",
      "-global",
      "virtio-mmio.force-legacy=false",
      "-global",
      "virtio-mmio.ioeventfd=off",
      "-device",
      fmt::format("orrery-clock,fd={},cards={}", GuestProcess::kExtra, host.ports.size())};
  if (architecture.has_firmware) words.insert(words.end(), {"-bios", "none"});
  for (unsigned i = 0; i < host.ports.size(); ++i) {
    const DeviceAddress address = device_address(id, i);
    words.insert(words.end(),
                 {"-device", fmt::format("virtio-net-device,netdev=orrery{0},"
                                         "bus=virtio-mmio-bus.{0},mac={1:02x},tx=timer,x-txtimer=0",
                                         i, fmt::join(address, ":"))});
  }
  return words;
}

}  // namespace

std::filesystem::path QemuMachine::program(std::string_view name) const {
  return std::filesystem::absolute(lab_.qemu.folder.value()) / name;
}

std::filesystem::path QemuMachine::emulator(const Host& host) const {
  return program("qemu-" + std::string(kQemuArchitectures[host.qemu.architecture].name));
}

void QemuMachine::check() const {
  for (const Host& host : lab_.topology().hosts) {
    if (host.machine != MachineKind::qemu) continue;
    for (const std::filesystem::path& file : {emulator(host), program("enter")})
      if (!std::filesystem::exists(file))
        throw UsageError("host " + host.name + " needs '" + file.string() +
                         "': ./dev lab --qemu builds it, or --set qemu=FOLDER");
    const QemuArchitecture& architecture = kQemuArchitectures[host.qemu.architecture];
    if (host.ports.size() > architecture.most_cards)
      throw UsageError(
          fmt::format("host {} has {} links, and a host with arch = \"{}\" has at most {}",
                      host.name, host.ports.size(), architecture.name, architecture.most_cards));
  }
}

void QemuMachine::prepare() const {
  for (NodeId id = 0; id < lab_.topology().hosts.size(); ++id) {
    const Host& host = lab_.host(id);
    if (host.machine != MachineKind::qemu) continue;
    const std::filesystem::path at = lab_.folder_of(id);
    std::filesystem::remove_all(at);
    for (const char* const folder : {"guest", "lab", "out", "root", "nothing"})
      std::filesystem::create_directories(at / folder);
    std::filesystem::copy_file(host.qemu.image, at / "guest/image");
    write_file(at / "guest/arguments", host.qemu.arguments + '\0');
  }
}

GuestCommand QemuMachine::command(NodeId id, std::uint64_t seed) const {
  const Host& host = lab_.host(id);
  GuestCommand command;
  command.folder = lab_.folder_of(id);
  command.enter = program("enter");
  command.program = emulator(host);
  command.arguments = arguments_of(host, id, seed);
  command.root = command.folder / "nothing";
  command.calls = "qemu";
  command.seed = seed;
  command.out_megabytes = kOutMegabytes;
  command.file_megabytes = kConsoleMegabytes;
  command.groups = lab_.groups();
  command.limits = limits_of(host);
  return command;
}

std::unique_ptr<Guest> QemuMachine::start(NodeId id, std::uint64_t seed, Network& network) const {
  return std::make_unique<QemuGuest>(
      command(id, seed), static_cast<unsigned>(lab_.host(id).ports.size()),
      std::chrono::milliseconds(lab_.patience.value().ticks() / 1'000'000), network);
}

void QemuMachine::add_executed(NodeId id, ExecutedFiles& to) const {
  const ExecutedFiles::Entry image =
      to.found("image", ExecutedFiles::Origin::put_in, lab_.folder_of(id) / "guest", "image");
  to.add(std::span(&image, 1), true);
}

}  // namespace orrery::lab
