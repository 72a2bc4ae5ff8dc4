// SPDX-License-Identifier: Apache-2.0
#include "study/children.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <string_view>

#include "observe/watch.h"
#include "orrery/error.h"
#include "run/threads/supervised_run.h"

namespace orrery::study {
namespace {

constexpr int kExitSignal = 128;
constexpr int kExitNoProgram = 127;
constexpr std::size_t kMostErrorBytes = 64 * 1024;
constexpr std::string_view kPrefix = "orrery: ";

/// Runs in the new process after fork(), where only system calls are allowed.
[[noreturn]] void become_run(pid_t parent, const sigset_t& mask, int errors, char* const* words) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(kExitNoProgram);  // the parent died before the prctl
  const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  dup2(nothing, STDIN_FILENO);
  dup2(nothing, STDOUT_FILENO);
  dup2(errors, STDERR_FILENO);
  // The study alone sends signals to the run. The run must take them, even if a script has started
  // the study in the background, where SIGINT and SIGTERM are ignored.
  for (const int number : {SIGINT, SIGTERM}) signal(number, SIG_DFL);
  sigprocmask(SIG_SETMASK, &mask, nullptr);
  execv("/proc/self/exe", words);
  _exit(kExitNoProgram);
}

/// The first message of Orrery in `text`, else the signal, the last line, or the exit code.
std::string sentence_of(int status, const std::string& text) {
  std::string_view rest = text, last;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (line.starts_with(kPrefix)) return std::string(line.substr(kPrefix.size()));
    if (!line.empty()) last = line;
  }
  if (WIFSIGNALED(status))
    return fmt::format("it was ended by signal {} ({})", WTERMSIG(status),
                       strsignal(WTERMSIG(status)));
  if (!last.empty() || WEXITSTATUS(status) == 0) return std::string(last);
  return fmt::format("it ended with exit code {} and said nothing", WEXITSTATUS(status));
}

std::string read_file(int file) {
  std::string text(kMostErrorBytes, '\0');
  const ssize_t bytes = pread(file, text.data(), text.size(), 0);
  text.resize(bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
  return text;
}

}  // namespace

Children::Children() {
  sigemptyset(&taken_);
  sigaddset(&taken_, SIGCHLD);
  // A signal that was ignored when the study started stays ignored.
  for (const int number : {SIGINT, SIGTERM})
    if (!is_ignored(number)) sigaddset(&taken_, number);
  sigprocmask(SIG_BLOCK, &taken_, &before_);
}

Children::~Children() {
  signal_all(SIGKILL);
  for (const Child& child : children_) {
    while (waitpid(child.process, nullptr, 0) < 0 && errno == EINTR) {
    }
    close(child.errors);
  }
  sigprocmask(SIG_SETMASK, &before_, nullptr);
}

void Children::start(std::size_t tag, const std::vector<std::string>& words) {
  std::string name = "orrery";
  std::vector<char*> pointers{name.data()};
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  const int errors = memfd_create("orrery-errors", MFD_CLOEXEC);
  const pid_t self = getpid();
  const pid_t process = errors < 0 ? -1 : fork();
  if (process == 0) become_run(self, before_, errors, pointers.data());
  if (process < 0) {
    const int error = errno;
    if (errors >= 0) close(errors);
    throw SystemFailure(
        fmt::format("cannot start another run: {}; try fewer with --jobs", std::strerror(error)));
  }
  children_.push_back({process, tag, errors});
}

std::optional<Ended> Children::wait(int milliseconds) {
  if (auto ended = collect()) return ended;
  const timespec time{milliseconds / 1000, milliseconds % 1000 * 1'000'000L};
  const int number = sigtimedwait(&taken_, nullptr, &time);
  if (number == SIGINT || number == SIGTERM) signal_ = number;
  return collect();
}

int Children::take_signal() {
  return std::exchange(signal_, 0);
}

void Children::signal_all(int number) const {
  for (const Child& child : children_) kill(child.process, number);
}

std::optional<Ended> Children::collect() {
  for (std::size_t i = 0; i < children_.size(); ++i) {
    const Child child = children_[i];
    int status = 0;
    if (waitpid(child.process, &status, WNOHANG) != child.process) continue;
    const int code = WIFSIGNALED(status) ? kExitSignal + WTERMSIG(status) : WEXITSTATUS(status);
    Ended ended{child.tag, code, sentence_of(status, read_file(child.errors))};
    close(child.errors);
    children_.erase(children_.begin() + static_cast<std::ptrdiff_t>(i));
    return ended;
  }
  return std::nullopt;
}

}  // namespace orrery::study
