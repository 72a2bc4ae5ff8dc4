// SPDX-License-Identifier: Apache-2.0
#include "qemu_machine.h"

#include <array>
#include <chrono>
#include <ctime>
#include <vector>

#include <fmt/format.h>

#include "../device_address.h"
#include "../host_script.h"
#include "../lab.h"
#include "../tree_digest.h"
#include "linux_files.h"
#include "qemu_guest.h"

namespace orrery::lab {
namespace {

constexpr unsigned kConsoleMegabytes = 64;

unsigned out_megabytes(const Host& host) {
  return host.qemu.has_linux() ? static_cast<unsigned>(kDiskUnit >> 20) : 1;
}

/// QEMU translates into 24 MiB, and has 64 MiB and 32 threads for all else.
constexpr unsigned kTranslatedMegabytes = 24;
ControlGroups::Limits limits_of(const Host& host) {
  return {
      std::uint64_t{host.memory_megabytes + kTranslatedMegabytes + out_megabytes(host) + 64} << 20,
      32};
}

/// The date at the host's start. QEMU's clock has whole seconds.
std::string date_of(const Host& host) {
  const auto seconds = static_cast<std::time_t>(host.start_of_day_ns() / 1'000'000'000);
  std::tm date{};
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", gmtime_r(&seconds, &date));
  return text.data();
}

using Words = std::vector<std::string>;

/// What an image without an operating system is started with.
Words image_of(const QemuHost& qemu) {
  return {"-kernel", "/guest/lab/image", "-device",
          fmt::format("loader,file=/guest/lab/arguments,addr={:#x},force-raw=on",
                      qemu.kind().arguments_address)};
}

/// What Linux is started with. The time stamp counter of an x86 counts nanoseconds, as Linux is told. No
/// device of it needs the 32 MiB that Linux would keep for copies below 4 GiB (swiotlb).
Words linux_of(const Host& host, std::uint64_t seed) {
  // As with User Mode Linux, hosts begin at different times and with different process numbers.
  constexpr std::uint64_t kMostStartNs = 1'000'000, kLeastProcess = 200, kProcesses = 20'000;
  const QemuArchitecture& kind = host.qemu.kind();
  return {"-smp",
          std::to_string(host.qemu.processors),
          "-no-reboot",
          "-kernel",
          "/guest/lab/linux",
          "-initrd",
          "/guest/lab/start",
          "-append",
          fmt::format("console={} quiet loglevel=1 panic=-1 nokaslr random.trust_cpu=off{} "
                      "LAB_START_NS={} LAB_FIRST_PROCESS={} LAB_DATE_NS={}{}",
                      kind.serial_line,
                      kind.is_pc() ? " tsc=reliable tsc_early_khz=1000000 swiotlb=noforce" : "",
                      seed % kMostStartNs, kLeastProcess + seed / kMostStartNs % kProcesses,
                      host.start_of_day_ns(), host.qemu.ipv6 ? "" : " ipv6.disable=1")};
}

/// The disks of a Linux: its root, and its /out. They lie apart from all else that a machine with a
/// device tree has.
Words disks_of(const QemuHost& qemu, std::uintmax_t root_bytes) {
  constexpr std::uintmax_t kOut = std::uintmax_t{64} << 30, kRoot = kOut + kDiskUnit;
  Words words = {
      "-object",
      fmt::format("memory-backend-file,id=root,mem-path=/guest/lab/root,size={},share=off,"
                  "readonly=on,rom=on",
                  root_bytes),
      "-object",
      fmt::format("memory-backend-file,id=out,mem-path=/guest/out/disk,size={},share=on",
                  kDiskUnit)};
  const Words devices =
      qemu.kind().is_pc()
          ? Words{"-device", "nvdimm,memdev=root,unarmed=on", "-device", "nvdimm,memdev=out"}
          : Words{"-device", fmt::format("orrery-disk,memdev=out,addr={:#x}", kOut), "-device",
                  fmt::format("orrery-disk,memdev=root,addr={:#x}", kRoot)};
  words.insert(words.end(), devices.begin(), devices.end());
  return words;
}

std::string card_of(const Host& host, unsigned number) {
  constexpr unsigned kFirstSlot = 8;
  const std::string place =
      host.qemu.kind().is_pc()
          ? fmt::format("virtio-net-pci,addr={:#x},ioeventfd=off,romfile=", kFirstSlot + number)
          : fmt::format("virtio-net-device,bus=virtio-mmio-bus.{}", number);
  return fmt::format(
      "{},netdev=orrery{},mac={:02x},tx=timer,x-txtimer=0{}", place, number,
      fmt::join(device_address(host.name, number), ":"),
      host.qemu.has_linux() ? fmt::format(",host_mtu={}", host.ports[number].wire.mtu) : "");
}

/// Nothing here may depend on the machine, its clock or other threads. Cards send by a timer of the
/// virtual clock, at once.
std::vector<std::string> arguments_of(const Host& host, std::uint64_t seed,
                                      std::uintmax_t disk_bytes) {
  const QemuHost& qemu = host.qemu;
  std::vector<std::string> words = {
      "qemu",
      "-M",
      std::string(qemu.kind().machine),
      "-cpu",
      std::string(qemu.kind().processor),
      "-m",
      qemu.kind().is_pc() ? fmt::format("{}M,slots=2,maxmem={}M", host.memory_megabytes,
                                        host.memory_megabytes + 2 * (disk_bytes >> 20) + 2'048)
                          : fmt::format("{}M", host.memory_megabytes),
      "-accel",
      fmt::format("tcg,thread=single,tb-size={}", kTranslatedMegabytes),
      "-icount",
      fmt::format("speed={},sleep=off", qemu.instructions_per_s),
      "-rtc",
      "base=" + date_of(host) + ",clock=vm",
      "-seed",
      std::to_string(seed & 0x7fff'ffff),
      "-nodefaults",
      "-no-user-config",
      "-display",
      "none",
      "-chardev",
      "stdio,id=console,signal=off",
      "-serial",
      "chardev:console",
      "-device",
      fmt::format("orrery-clock,fd={},cards={}", GuestProcess::kExtra, host.ports.size())};
  const auto add = [&](const Words& more) { words.insert(words.end(), more.begin(), more.end()); };
  add(qemu.kind().is_pc() ? Words{"-L", "/guest/lab/firmware"}
                          : Words{"-global", "virtio-mmio.force-legacy=false", "-global",
                                  "virtio-mmio.ioeventfd=off"});
  if (!qemu.kind().firmware.empty()) add({"-bios", std::string(qemu.kind().firmware)});
  add(qemu.has_linux() ? linux_of(host, seed) : image_of(qemu));
  if (qemu.has_linux()) add(disks_of(qemu, disk_bytes));
  for (unsigned i = 0; i < host.ports.size(); ++i)
    words.insert(words.end(), {"-device", card_of(host, i)});
  return words;
}

/// A link, or a copy where the file system has no links.
void put(const std::filesystem::path& from, const std::filesystem::path& to) {
  std::error_code no_link;
  std::filesystem::create_hard_link(from, to, no_link);
  if (no_link) std::filesystem::copy_file(from, to);
}

}  // namespace

std::filesystem::path QemuMachine::program(std::string_view name) const {
  return std::filesystem::absolute(lab_.qemu.folder.value()) / name;
}

std::filesystem::path QemuMachine::emulator(const Host& host) const {
  return program("qemu-" + std::string(host.qemu.kind().emulator));
}

std::filesystem::path QemuMachine::files_of(const Host& host) const {
  return program(host.qemu.kind().name);
}

RootImage QemuMachine::root_of(const Host& host) const {
  RootImage image = root_image(host.qemu.root, program("roots"), program("image"),
                               std::string(host.qemu.kind().debian));
  require_command(host, image.config, host.qemu.root);
  return image;
}

std::map<std::string, std::filesystem::path> QemuMachine::programs(const Host& host) const {
  std::map<std::string, std::filesystem::path> programs;
  // Those for this machine's own architecture are there for other kinds of hosts, too.
  const std::filesystem::path at = host.qemu.kind().is_pc() ? program("") : files_of(host);
  for (const std::string name : {"off", "as", "shell", "olsrd"})
    programs.emplace("lab/" + name, at / name);
  if (!lab_.uml.olsrd.value().empty() && host.qemu.kind().is_pc())
    programs["lab/olsrd"] = lab_.uml.olsrd.value();
  programs.emplace("lab/modules", files_of(host) / "modules");
  programs.emplace("init", at / "init");
  return programs;
}

void QemuMachine::check() const {
  for (const NodeId id : lab_.topology().hosts_of(MachineKind::qemu)) {
    const Host& host = lab_.host(id);
    std::vector<std::filesystem::path> needed = {emulator(host), program("enter")};
    if (host.qemu.has_linux()) {
      lab_.uml.check_olsrd();
      needed.insert(needed.end(), {files_of(host) / "linux", program("x86_64/disk")});
      for (const auto& [name, from] : programs(host)) needed.push_back(from);
    }
    for (const std::filesystem::path& file : needed)
      if (!std::filesystem::exists(file))
        throw UsageError("host " + host.name + " needs '" + file.string() +
                         "': ./dev lab --qemu builds it, or --set qemu=FOLDER");
    const QemuArchitecture& architecture = host.qemu.kind();
    if (host.ports.size() > architecture.most_cards)
      throw UsageError(
          fmt::format("host {} has {} links, and a host with arch = \"{}\" has at most {}",
                      host.name, host.ports.size(), architecture.name, architecture.most_cards));
  }
}

void QemuMachine::prepare() const {
  for (const NodeId id : lab_.topology().hosts_of(MachineKind::qemu)) {
    const Host& host = lab_.host(id);
    const std::filesystem::path at = lab_.folder_of(id);
    std::filesystem::remove_all(at);
    for (const char* const folder : {"guest", "lab", "out", "root", "nothing"})
      std::filesystem::create_directories(at / folder);
    if (host.qemu.has_linux()) {
      const RootImage root = root_of(host);
      put(root.file, at / "guest/root");
      put(files_of(host) / "linux", at / "guest/linux");
      put(program("x86_64/disk"), at / "guest/disk");
      std::filesystem::copy(files_of(host) / "firmware", at / "guest/firmware");
      write_start_archive(lab_.topology(), host, programs(host), root.config, at / "guest/start");
    } else {
      std::filesystem::copy_file(host.qemu.image, at / "guest/image");
      write_file(at / "guest/arguments", host.qemu.arguments + '\0');
    }
  }
}

GuestCommand QemuMachine::command(NodeId id, std::uint64_t seed) const {
  const Host& host = lab_.host(id);
  GuestCommand command;
  command.folder = lab_.folder_of(id);
  command.enter = program("enter");
  command.program = emulator(host);
  command.arguments = arguments_of(
      host, seed,
      host.qemu.has_linux() ? std::filesystem::file_size(command.folder / "guest/root") : 0);
  command.root = command.folder / "nothing";
  command.calls = "qemu";
  command.seed = seed;
  command.out_megabytes = out_megabytes(host);
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

std::vector<std::pair<std::string, std::string>> QemuMachine::digests() const {
  TreeDigests digests;
  for (const NodeId id : lab_.topology().hosts_of(MachineKind::qemu)) {
    const Host& host = lab_.host(id);
    digests.add("the QEMU", emulator(host));
    if (!host.qemu.has_linux()) {
      digests.add("the image of host " + host.name, host.qemu.image);
      continue;
    }
    digests.add("the hosts' kernel and firmware", files_of(host));
    for (const auto& [name, from] : programs(host)) digests.add("the hosts' program", from);
    digests.add("the root of host " + host.name, root_of(host).file);
    for (const auto& [to, from] : host.files)
      digests.add("the file " + to + " of host " + host.name, from);
  }
  return digests.take();
}

void QemuMachine::add_executed(NodeId id, ExecutedFiles& to) const {
  const std::filesystem::path files = lab_.folder_of(id) / "guest";
  const std::vector<const char*> names =
      lab_.host(id).qemu.has_linux() ? std::vector{"linux", "root"} : std::vector{"image"};
  std::vector<ExecutedFiles::Entry> all;
  for (const char* const name : names)
    all.push_back(to.found(name, ExecutedFiles::Origin::put_in, files, name));
  to.add(all, true);
}

}  // namespace orrery::lab
