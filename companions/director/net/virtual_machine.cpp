// SPDX-License-Identifier: Apache-2.0
#include "director/net/virtual_machine.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <iterator>
#include <span>
#include <utility>

#include "lab/device_address.h"
#include "orrery/error.h"

namespace orrery::director {
namespace {

constexpr int kCardBuffer = 4 << 20;  // bytes of frames that wait for a machine

/// QEMU's options separate their parts by commas, and take two for one.
std::string escaped(std::string text) {
  for (std::size_t at = 0; (at = text.find(',', at)) != std::string::npos; at += 2)
    text.insert(at, 1, ',');
  return text;
}

/// Two ends of a connection: ours, and one that the new process inherits.
std::pair<Descriptor, Descriptor> connection(int type) {
  std::array<int, 2> ends;
  if (socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends.data()) != 0)
    throw UsageError(fmt::format("a socket cannot be made: {}", std::strerror(errno)));
  std::pair<Descriptor, Descriptor> both{Descriptor(ends[0]), Descriptor(ends[1])};
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  fcntl(ends[1], F_SETFD, 0);
  for (const int end : ends) {
    setsockopt(end, SOL_SOCKET, SO_SNDBUF, &kCardBuffer, sizeof kCardBuffer);
    setsockopt(end, SOL_SOCKET, SO_RCVBUF, &kCardBuffer, sizeof kCardBuffer);
  }
  return both;
}

Descriptor create(const std::filesystem::path& path) {
  Descriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (!file)
    throw UsageError(
        fmt::format("'{}' cannot be written: {}", path.string(), std::strerror(errno)));
  return file;
}

std::string chosen_accelerator(const lab::VmHost& vm) {
  if (!vm.accelerator.empty()) return vm.accelerator;
  return access("/dev/kvm", R_OK | W_OK) == 0 ? "kvm" : "tcg";
}

std::string mac_of(const std::string& host, unsigned device) {
  const lab::DeviceAddress address = lab::device_address(host, device);
  return fmt::format("{:02x}", fmt::join(address, ":"));
}

using Words = std::vector<std::string>;

void add_what_it_boots(const lab::VmHost& vm, Words& words) {
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) words.insert(words.end(), {option, value});
  };
  add("-kernel", vm.kernel);
  add("-initrd", vm.initrd);
  add("-append", vm.append);
  if (!vm.image.empty()) add("-drive", "if=virtio,snapshot=on,file=" + escaped(vm.image.string()));
}

Words command_of(const lab::Host& host, const std::string& accelerator, int control, int console,
                 std::span<const int> cards) {
  const lab::VmHost& vm = host.vm;
  Words words{vm.program,
              "-name",
              fmt::format("guest={0},process={0},debug-threads=on", host.name),
              "-nodefaults",
              "-no-user-config",
              "-display",
              "none",
              "-accel",
              accelerator,
              "-m",
              std::to_string(host.memory_megabytes),
              "-smp",
              std::to_string(vm.processors),
              "-chardev",
              "socket,id=console,fd=" + std::to_string(console),
              "-serial",
              "chardev:console",
              "-chardev",
              "socket,id=control,fd=" + std::to_string(control),
              "-mon",
              "chardev=control,mode=control",
              "-sandbox",
              "on,obsolete=deny,spawn=deny"};
  // Under root QEMU gives up its rights, for which it needs system calls that change the user.
  if (geteuid() == 0)
    words.insert(words.end(), {"-runas", "nobody"});
  else
    words.back() += ",elevateprivileges=deny";
  add_what_it_boots(vm, words);
  for (unsigned i = 0; i < cards.size(); ++i) {
    words.insert(
        words.end(),
        {"-netdev", fmt::format("dgram,id=wire{},local.type=fd,local.str={}", i, cards[i]),
         "-device", fmt::format("{},netdev=wire{},mac={}", vm.card, i, mac_of(host.name, i))});
  }
  words.insert(words.end(), vm.arguments.begin(), vm.arguments.end());
  return words;
}

/// Starts a program with its output in `log`. Ctrl-C on the terminal does not reach it.
pid_t start(const Words& words, const std::filesystem::path& log) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const Descriptor output = create(log), input(open("/dev/null", O_RDONLY | O_CLOEXEC));
  const pid_t process = fork();
  if (process < 0)
    throw UsageError(fmt::format("no process can be started: {}", std::strerror(errno)));
  if (process > 0) return process;
  setpgid(0, 0);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  dup2(input.number(), 0);
  dup2(output.number(), 1);
  dup2(output.number(), 2);
  execvp(arguments[0], arguments.data());
  dprintf(2, "%s: %s\n", arguments[0], std::strerror(errno));
  _exit(127);
}

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The last line that is not empty, without control characters.
std::string last_line(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  text.erase(0, text.find_last_of('\n') + 1);
  std::erase_if(text, [](unsigned char one) { return one < 0x20 || one == 0x7f; });
  return text;
}

}  // namespace

VirtualMachine::VirtualMachine(const lab::Host& host, const std::filesystem::path& folder)
    : name_(host.name),
      ready_(host.vm.ready),
      accelerator_(chosen_accelerator(host.vm)),
      folder_(folder) {
  std::filesystem::create_directories(folder);
  std::vector<Descriptor> theirs;
  std::vector<int> numbers;
  const auto connect = [&](int type) {
    auto [ours, other] = connection(type);
    numbers.push_back(other.number());
    theirs.push_back(std::move(other));
    return std::move(ours);
  };
  control_ = connect(SOCK_STREAM);
  console_ = connect(SOCK_STREAM);
  for (std::size_t i = 0; i < host.ports.size(); ++i) cards_.push_back(connect(SOCK_DGRAM));
  console_file_ = create(folder / "console");
  process_ =
      start(command_of(host, accelerator_, numbers[0], numbers[1], std::span(numbers).subspan(2)),
            folder / "qemu.log");
  tell("qmp_capabilities");
}

VirtualMachine::VirtualMachine(VirtualMachine&& other) noexcept
    : name_(std::move(other.name_)),
      ready_(std::move(other.ready_)),
      accelerator_(std::move(other.accelerator_)),
      folder_(std::move(other.folder_)),
      console_file_(std::move(other.console_file_)),
      console_end_(std::move(other.console_end_)),
      console_bytes_(other.console_bytes_),
      process_(std::exchange(other.process_, -1)),
      status_(other.status_),
      has_ended_(other.has_ended_),
      cards_(std::move(other.cards_)),
      control_(std::move(other.control_)),
      console_(std::move(other.console_)) {}

VirtualMachine::~VirtualMachine() {
  if (process_ < 0 || !is_running()) return;
  kill(process_, SIGKILL);
  waitpid(process_, nullptr, 0);
}

void VirtualMachine::read_console() {
  std::array<char, 65536> text;
  for (ssize_t got = 0; (got = recv(console_.number(), text.data(), text.size(), 0)) > 0;) {
    const auto bytes = std::min(static_cast<std::size_t>(got), kMostConsole - console_bytes_);
    console_bytes_ += bytes;
    if (write(console_file_.number(), text.data(), bytes) < 0) console_bytes_ = kMostConsole;
    if (ready_.empty()) continue;
    console_end_.append(text.data(), static_cast<std::size_t>(got));
    if (console_end_.find(ready_) != std::string::npos)
      ready_.clear();
    else if (console_end_.size() > ready_.size())
      console_end_.erase(0, console_end_.size() - ready_.size());
  }
}

bool VirtualMachine::is_running() {
  if (!has_ended_ && waitpid(process_, &status_, WNOHANG) == process_) has_ended_ = true;
  return !has_ended_;
}

std::string VirtualMachine::how_it_ended() const {
  std::string text = WIFSIGNALED(status_) ? fmt::format("killed by signal {}", WTERMSIG(status_))
                                          : fmt::format("exit code {}", WEXITSTATUS(status_));
  if (const std::string line = last_line(text_of(folder_ / "qemu.log")); !line.empty())
    text += ": " + line;
  return text;
}

/// QEMU's answers are thrown away. An order that does not fit into the socket is lost; a QEMU that
/// reads no orders hangs anyway.
void VirtualMachine::tell(std::string_view order) {
  std::array<char, 4096> answers;
  while (recv(control_.number(), answers.data(), answers.size(), 0) > 0) {
  }
  const std::string text = fmt::format("{{\"execute\": \"{}\"}}\n", order);
  send(control_.number(), text.data(), text.size(), MSG_NOSIGNAL);
}

void VirtualMachine::stop() {
  tell("stop");
}

void VirtualMachine::go_on() {
  tell("cont");
}

}  // namespace orrery::director
