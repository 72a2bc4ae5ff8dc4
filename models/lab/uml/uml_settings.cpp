// SPDX-License-Identifier: Apache-2.0
#include "uml_settings.h"

#include <fcntl.h>

#include <cerrno>
#include <string>
#include <system_error>

namespace orrery::lab {
namespace {

constexpr std::uint64_t kTickNs = 10'000'000;  ///< tick of its kernel: 100 a second
// Hosts get different numbers of their first process and different times at which their scripts
// begin, since programs (bash, for $RANDOM) make random numbers from them.
constexpr std::uint64_t kLeastProcess = 200, kProcesses = 20'000, kMostStartNs = 1'000'000;

constexpr unsigned kOutMegabytes = 64;

// Names of its sockets; short, since the path of a socket has a low limit.
constexpr const char* kTimeSocket = "t";
std::string device_name(unsigned device) {
  return "n" + std::to_string(device);
}

/// Above the limits of a guest's kernel: a thread for each 128 KiB of memory (kernel/fork.c), each
/// with a process and page tables on this machine; /out; and 64 MiB and 64 processes for all else.
ControlGroups::Limits limits_of(const UmlSettings& settings) {
  const std::uint64_t memory = settings.memory_megabytes;
  return {(2 * memory + kOutMegabytes + 64) << 20, 8 * settings.memory_megabytes + 64};
}

std::vector<std::string> arguments_of(const UmlSettings& settings) {
  std::vector<std::string> words = {
      "kernel",
      "mem=" + std::to_string(settings.memory_megabytes) + "M",
      "root=/dev/root",
      "rootfstype=hostfs",
      "hostfs=/guest",
      "ro",
      "init=/lab/init",
      "con=null",
      "con0=null,fd:1",
      "quiet",
      "fb_tunnels=none",  // no interfaces that are not in the topology
      "bonding.max_bonds=0",
      "dummy.numdummies=0",
      "ifb.numifbs=0",
      "umid=guest",
      "uml_dir=/tmp/uml/",
      "lab_syscall_ns=" + std::to_string(settings.system_call_ns),
      "lab_packet_ns=" + std::to_string(settings.packet_ns),
      "lab_tick_ns=" + std::to_string(settings.seed % kTickNs),
      "lab_first_process=" + std::to_string(kLeastProcess + settings.seed / kTickNs % kProcesses),
      "LAB_START_NS=" + std::to_string(settings.seed / kTickNs / kProcesses % kMostStartNs),
      "lab_executed=" + std::to_string(GuestProcess::kExtra)};
  if (settings.virtual_time) words.push_back("time-travel=ext:0:/lab/" + std::string(kTimeSocket));
  if (!settings.ipv6) words.push_back("ipv6.disable=1");
  for (unsigned i = 0; i < settings.devices.size(); ++i)
    words.push_back("virtio_uml.device=/lab/" + device_name(i) + ":1");
  return words;
}

/// The file to which its kernel writes the executed files (kernel/lab_executed.c).
File open_executed(const UmlSettings& settings) {
  const std::string path = settings.executed_file();
  File file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644));
  if (!file.is_open()) throw std::system_error(errno, std::generic_category(), path);
  return file;
}

}  // namespace

std::filesystem::path UmlSettings::time_socket() const {
  return folder / "lab" / kTimeSocket;
}
std::filesystem::path UmlSettings::device_socket(unsigned device) const {
  return folder / "lab" / device_name(device);
}
std::filesystem::path UmlSettings::executed_file() const {
  return folder / "lab" / "executed";
}

UmlSettings uml_settings(const Host& host, NodeId id, const std::filesystem::path& folder,
                         const std::filesystem::path& kernel) {
  UmlSettings settings;
  settings.host = id;
  settings.folder = std::filesystem::absolute(folder) / host.name;
  settings.kernel = std::filesystem::absolute(kernel);
  if (host.uml.root) settings.root = *host.uml.root;
  settings.memory_megabytes = host.memory_megabytes;
  settings.start_of_day_ns = host.start_of_day_ns();
  settings.system_call_ns = host.uml.system_call_ns;
  settings.packet_ns = host.uml.packet_ns;
  settings.ipv6 = host.uml.ipv6;
  for (unsigned i = 0; i < host.ports.size(); ++i)
    settings.devices.push_back(
        {device_address(host.name, i), static_cast<std::uint16_t>(host.ports[i].wire.mtu)});
  return settings;
}

GuestCommand uml_command(const UmlSettings& settings) {
  constexpr unsigned kMostFile = 256;
  GuestCommand command;
  command.folder = settings.folder;
  command.enter = settings.program("enter");
  command.program = settings.kernel;
  command.arguments = arguments_of(settings);
  command.root = settings.root;
  command.seed = settings.seed;
  command.out_megabytes = kOutMegabytes;
  command.file_megabytes = settings.memory_megabytes + kMostFile;
  command.groups = settings.groups;
  command.limits = limits_of(settings);
  command.extra = open_executed(settings);
  return command;
}

}  // namespace orrery::lab
