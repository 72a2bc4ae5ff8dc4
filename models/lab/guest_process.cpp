// SPDX-License-Identifier: Apache-2.0
#include "guest_process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <fstream>
#include <map>
#include <system_error>

#include "calendar.h"
#include "guest_etc.h"
#include "orrery/error.h"

extern char** environ;

namespace orrery::lab {
namespace {

constexpr std::uint64_t kTickNs = 10'000'000;  ///< tick of its kernel: 100 a second
// Hosts get different numbers of their first process and different times at which their scripts
// begin, since programs (bash, for $RANDOM) make random numbers from them.
constexpr std::uint64_t kLeastProcess = 200, kProcesses = 20'000, kMostStartNs = 1'000'000;

// Names of its sockets; short, since the path of a socket has a low limit.
constexpr const char* kTimeSocket = "t";
std::string device_name(unsigned device) {
  return "n" + std::to_string(device);
}

/// Descriptor to which its kernel writes the executed files (kernel/lab_executed.c).
constexpr int kExecuted = 4;

/// Quotes a word for the shell.
std::string quoted(const std::string& text) {
  std::string word = "'";
  for (const char letter : text)
    word += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return word + "'";
}

std::string command_of(const Host::Program& program) {
  if (program.user.empty()) return "(" + program.command + "\n)";
  return "/lab/as " + program.user + " " + quoted(program.command);
}

/// Script for the host's first shell: files, interfaces, setup, and programs at their times.
std::string script_of(const Host& host) {
  std::string script;
  std::size_t number = 0;
  for (const auto& [path, from] : host.files)
    script += "mkdir -p \"$(dirname " + quoted(path) + ")\"; cp -r /lab/files/" +
              std::to_string(number++) + " " + quoted(path) + "\n";
  for (std::size_t i = 0; i < host.ports.size(); ++i) {
    const std::string device = "eth" + std::to_string(i);
    if (!host.ports[i].address.empty())
      script += "ip address add " + host.ports[i].address + " dev " + device + "\n";
    script += "ip link set " + device + " up\n";
  }
  for (const std::string& command : host.setup) script += command + "\n";
  if (host.has_shell) script += "/lab/shell eth" + std::to_string(host.ports.size() - 1) + " &\n";
  std::size_t ordinal = 0;
  for (const Host::Program& program : host.programs) {
    const std::string at = std::to_string(program.at_ns / 1'000'000'000) + "." +
                           std::to_string(1'000'000'000 + program.at_ns % 1'000'000'000).substr(1);
    script += "(sleep " + at + "; " + command_of(program) + " || echo \"lab: program " +
              std::to_string(++ordinal) + " ended with $?\") &\n";
  }
  return script + "wait\n";
}

}  // namespace

void write_file(const std::filesystem::path& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  file.close();
  if (!file) throw UsageError("'" + path.string() + "' cannot be written");
}

namespace {

/// Sets all file times to the guest's start, so that no file shows the machine's date.
void set_times(const std::filesystem::path& folder) {
  const auto start = std::chrono::file_clock::from_sys(
      std::chrono::sys_seconds(std::chrono::seconds(Calendar::kStartOfDayS)));
  std::filesystem::last_write_time(folder, start);
  for (const auto& one : std::filesystem::recursive_directory_iterator(folder))
    std::filesystem::last_write_time(one, start);
}

/// A guest needs about ten open files. Systems start with a low limit that any process may raise.
void allow_many_files() {
  static const bool done = [] {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
      limit.rlim_cur = limit.rlim_max;
      setrlimit(RLIMIT_NOFILE, &limit);
    }
    return true;
  }();
  static_cast<void>(done);
}

/// Above the limits of a guest's kernel: a thread for each 128 KiB of memory (kernel/fork.c), each
/// with a process and page tables on this machine; /out; and 64 MiB and 64 processes for all else.
ControlGroups::Limits limits_of(const GuestSettings& settings) {
  const std::uint64_t memory = settings.memory_megabytes, out = settings.out_megabytes;
  return {(2 * memory + out + 64) << 20, 8 * settings.memory_megabytes + 64};
}

std::vector<std::string> command(const GuestSettings& settings,
                                 const std::vector<std::filesystem::path>& groups) {
  constexpr unsigned kMostFile = 256;
  std::vector<std::string> words = {
      std::filesystem::path(settings.kernel).replace_filename("enter"),
      settings.folder,
      settings.kernel,
      std::to_string(settings.seed),
      settings.root,
      std::to_string(settings.out_megabytes),
      std::to_string(settings.memory_megabytes + kMostFile),
      groups.empty() ? "-" : groups.front(),
      groups.size() < 2 ? "-" : groups.back(),
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
      "lab_executed=" + std::to_string(kExecuted)};
  if (settings.virtual_time) words.push_back("time-travel=ext:0:/lab/" + std::string(kTimeSocket));
  if (!settings.ipv6) words.push_back("ipv6.disable=1");
  for (unsigned i = 0; i < settings.devices.size(); ++i)
    words.push_back("virtio_uml.device=/lab/" + device_name(i) + ":1");
  return words;
}

}  // namespace

std::filesystem::path GuestProcess::time_socket(const GuestSettings& settings) {
  return settings.folder / "lab" / kTimeSocket;
}
std::filesystem::path GuestProcess::device_socket(const GuestSettings& settings, unsigned device) {
  return settings.folder / "lab" / device_name(device);
}

std::filesystem::path GuestProcess::executed_file(const GuestSettings& settings) {
  return settings.folder / "lab" / "executed";
}

GuestProcess::GuestProcess(const GuestSettings& settings) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
  const File far(ends[0]);
  life_line_ = File(ends[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  const std::string console = settings.folder / "console";
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, console.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0644);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  posix_spawn_file_actions_adddup2(&actions, far.get(), 3);
  const std::string executed = executed_file(settings);
  posix_spawn_file_actions_addopen(&actions, kExecuted, executed.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0644);
  if (settings.groups != nullptr)
    groups_ = settings.groups->make(settings.folder.filename(), limits_of(settings));
  std::vector<std::string> words = command(settings, groups_);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  // In a session of its own, since a signal to a process group reaches all processes of the group.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
  const int error =
      posix_spawn(&id_, arguments[0], &actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    ControlGroups::remove(groups_);
    throw std::system_error(error, std::generic_category(), arguments[0]);
  }
  process_ = File(static_cast<int>(syscall(SYS_pidfd_open, id_, 0)));
}

GuestProcess::~GuestProcess() {
  if (id_ > 0) end();
}

bool GuestProcess::end() {
  life_line_ = File();
  constexpr int kEnds = 120'000;  // copying a full /out to a slow disk takes a while
  pollfd ends{process_.get(), POLLIN, 0};
  int ready = 0;
  do {  // signals to the engine must not lose the results
    ready = poll(&ends, 1, kEnds);
  } while (ready < 0 && errno == EINTR);
  if (ready <= 0) kill(id_, SIGKILL);
  int status = 0;
  while (waitpid(id_, &status, 0) < 0 && errno == EINTR) continue;
  id_ = -1;
  ControlGroups::remove(groups_);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

NetworkDevice::Address device_address(std::uint32_t host, unsigned device) {
  return {2,
          0,
          static_cast<std::uint8_t>(host >> 16),
          static_cast<std::uint8_t>(host >> 8),
          static_cast<std::uint8_t>(host),
          static_cast<std::uint8_t>(device)};
}

std::vector<NetworkDevice::Address> station_addresses(const Node& radio) {
  std::vector<NetworkDevice::Address> addresses;
  for (const Port& port : radio.ports)
    addresses.push_back(device_address(port.wire.node, port.wire.port));
  return addresses;
}

GuestSettings guest_settings(const Host& host, std::uint32_t id,
                             const std::filesystem::path& folder,
                             const std::filesystem::path& kernel) {
  GuestSettings settings;
  settings.folder = std::filesystem::absolute(folder) / host.name;
  settings.kernel = std::filesystem::absolute(kernel);
  if (host.root) settings.root = *host.root;
  settings.memory_megabytes = host.memory_megabytes;
  settings.system_call_ns = host.system_call_ns;
  settings.packet_ns = host.packet_ns;
  settings.ipv6 = host.ipv6;
  for (unsigned i = 0; i < host.ports.size(); ++i)
    settings.devices.push_back(
        {device_address(id, i), static_cast<std::uint16_t>(host.ports[i].wire.mtu)});
  return settings;
}

namespace {

/// Programs for hosts by name, with the files that guest/build made.
std::vector<std::pair<std::string, std::filesystem::path>> programs_of(
    const GuestSettings& settings) {
  std::vector<std::pair<std::string, std::filesystem::path>> programs;
  for (const char* const name : kProgramsOfHosts)
    programs.emplace_back(name, std::filesystem::path(settings.kernel).replace_filename(name));
  if (!settings.olsrd.empty()) programs.back().second = settings.olsrd;
  return programs;
}

/// The files that are the same for all hosts with the same kind of root.
struct SharedFiles {
  std::map<std::string, std::string> texts;  ///< by path below the folder of the guest
  std::filesystem::path first;               ///< folder of the first host that has them
};

SharedFiles shared_files(const Topology& topology, bool of_machine) {
  SharedFiles files;
  for (const auto& [name, text] : etc_of(topology, of_machine))
    files.texts.emplace("etc/" + name, text);
  files.texts.emplace("folders", folders_of(of_machine));
  return files;
}

/// Writes the shared files for a host. The results contain them once: the folders of other hosts have
/// links to those of the first.
void share(SharedFiles& files, const GuestSettings& settings) {
  const std::filesystem::path at = settings.folder / "guest";
  const auto is_linked = [&](const std::filesystem::path& name) {
    std::error_code none;
    if (files.first.empty()) return false;
    std::filesystem::create_hard_link(files.first / "guest" / name, at / name, none);
    return !none;  // copies where the file system has no links
  };
  for (const auto& [name, text] : files.texts) {
    std::filesystem::create_directories((at / name).parent_path());
    if (!is_linked(name)) write_file(at / name, text);
  }
  for (const auto& [name, from] : programs_of(settings))
    if (!is_linked(name)) std::filesystem::copy_file(from, at / name);
  if (files.first.empty()) files.first = settings.folder;
}

void prepare_guest_folder(const Host& host, const std::filesystem::path& at) {
  std::filesystem::remove_all(at);
  for (const char* const folder : {"guest/files", "lab", "out", "root"})
    std::filesystem::create_directories(at / folder);
  write_file(at / "guest/host", script_of(host));
  write_file(at / "guest/hostname", host.name + "\n");
  std::size_t number = 0;
  for (const auto& [path, from] : host.files)
    std::filesystem::copy(from, at / "guest/files" / std::to_string(number++),
                          std::filesystem::copy_options::recursive);
}

}  // namespace

void prepare_guest_folders(const Topology& topology, const std::vector<GuestSettings>& settings) {
  allow_many_files();
  SharedFiles of_machine = shared_files(topology, true),
              of_own_root = shared_files(topology, false);
  for (std::size_t id = 0; id < settings.size(); ++id) {
    const GuestSettings& one = settings[id];
    prepare_guest_folder(topology.hosts[id], one.folder);
    share(one.root == "/" ? of_machine : of_own_root, one);
    set_times(one.folder / "guest");
  }
}

}  // namespace orrery::lab
