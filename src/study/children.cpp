// SPDX-License-Identifier: Apache-2.0
#include "study/children.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <string_view>
#include <system_error>

#include "core/descriptor.h"
#include "core/process.h"
#include "orrery/error.h"
#include "output/watch.h"
#include "run/threads/supervised_run.h"

namespace orrery::study {
namespace {

constexpr std::size_t kMostErrorBytes = 64 * 1024;
constexpr std::string_view kPrefix = "orrery: ";

/// The first message of Orrery in `text`, else the signal, the last line, or the exit code.
std::string sentence_of(int status, const std::string& text) {
  std::string_view rest = text, last;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (line.starts_with(kPrefix)) return std::string(line.substr(kPrefix.size()));
    if (!line.empty()) last = line;
  }
  if (WIFSIGNALED(status)) return "it " + end_text(status);
  if (!last.empty() || WEXITSTATUS(status) == 0) return std::string(last);
  return "it " + end_text(status) + " and said nothing";
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
    wait_for_process(child.process);
    close(child.errors);
  }
  sigprocmask(SIG_SETMASK, &before_, nullptr);
}

/// The study alone sends signals to the run. The run must take them, even if a script has started
/// the study in the background, where SIGINT and SIGTERM are ignored.
void Children::start(std::size_t tag, const std::vector<std::string>& words) {
  const Descriptor nothing(open("/dev/null", O_RDWR | O_CLOEXEC));
  Descriptor errors(memfd_create("orrery-errors", MFD_CLOEXEC));
  const int refusal = errors.get() < 0 ? errno : 0;
  ProcessStart start{.words = {"orrery"},
                     .descriptors = {{nothing.get(), STDIN_FILENO},
                                     {nothing.get(), STDOUT_FILENO},
                                     {errors.get(), STDERR_FILENO}},
                     .default_signals = {SIGINT, SIGTERM},
                     .mask = &before_,
                     .group = 0,
                     .dies_with_this = true};
  start.words.insert(start.words.end(), words.begin(), words.end());
  try {
    if (refusal != 0) throw std::system_error(refusal, std::generic_category());
    children_.push_back({start_process(start), tag, errors.release()});
  } catch (const std::system_error& error) {
    throw SystemFailure(
        fmt::format("cannot start another run: {}; try fewer with --jobs", error.code().message()));
  }
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
    Ended ended{child.tag, exit_code_of(status), sentence_of(status, read_file(child.errors))};
    close(child.errors);
    children_.erase(children_.begin() + static_cast<std::ptrdiff_t>(i));
    return ended;
  }
  return std::nullopt;
}

}  // namespace orrery::study
