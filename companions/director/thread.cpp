// SPDX-License-Identifier: Apache-2.0
#include "director/thread.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>

namespace orrery::director {
namespace {

std::string path_of(pid_t process, pid_t thread, const char* file) {
  return fmt::format("/proc/{}/task/{}/{}", process, thread, file);
}

/// The beginning of a file; empty if it cannot be read.
template <std::size_t kSize>
std::string_view read_start(int descriptor, char (&text)[kSize]) {
  const ssize_t length = pread(descriptor, text, kSize, 0);
  return {text, length < 0 ? 0 : static_cast<std::size_t>(length)};
}

/// The text from the state on. The name before it may contain blanks and brackets, too.
std::string_view behind_name(std::string_view stat) {
  const std::size_t bracket = stat.rfind(')');
  return bracket == std::string_view::npos ? "" : stat.substr(std::min(bracket + 2, stat.size()));
}

/// The field with this number in proc(5), counted from the state (3).
std::uint64_t field_of(std::string_view stat, int wanted) {
  std::string_view rest = behind_name(stat);
  for (int field = 3; field < wanted && !rest.empty(); ++field) {
    const std::size_t blank = rest.find(' ');
    rest.remove_prefix(blank == std::string_view::npos ? rest.size() : blank + 1);
  }
  std::uint64_t value = 0;
  std::from_chars(rest.data(), rest.data() + rest.size(), value);
  return value;
}

constexpr int kFieldOfBirth = 22;
constexpr unsigned kCallsBetweenLooks = 10;

}  // namespace

Descriptor::~Descriptor() {
  if (number_ >= 0) close(number_);
}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(number_, other.number_);
  return *this;
}

std::optional<Thread> Thread::open(pid_t process, pid_t thread) {
  const auto open_file = [&](const char* file) {
    return Descriptor(::open(path_of(process, thread, file).c_str(), O_RDONLY | O_CLOEXEC));
  };
  Thread opened;
  opened.schedstat_ = open_file("schedstat");
  opened.state_ = open_file("stat");
  if (!opened.schedstat_ || !opened.state_) return {};
  char text[1024];
  opened.id_ = {process, thread, field_of(read_start(opened.state_.number(), text), kFieldOfBirth)};
  opened.name_ = name_of(process, thread);
  if (opened.id_.born == 0 || opened.state() == 'X') return {};
  const std::optional<Nanoseconds> before = opened.consumed_by_schedstat();
  if (!before) return {};
  opened.clock_ = TaskClock(thread, *before);
  return opened;
}

std::optional<Nanoseconds> Thread::consumed() {
  const std::optional<Nanoseconds> consumed = clock_.consumed();
  if (!consumed) return consumed_by_schedstat();
  // The counter of a thread that has ended stands still; only the other file has its end.
  const bool stands_still = *consumed == std::exchange(last_, *consumed);
  looks_ = stands_still ? looks_ + 1 : 0;
  if (looks_ > 0 && looks_ % kCallsBetweenLooks == 0 && !consumed_by_schedstat()) return {};
  return consumed;
}

std::optional<Nanoseconds> Thread::consumed_by_schedstat() const {
  char text[64];
  const std::string_view line = read_start(schedstat_.number(), text);
  Nanoseconds value = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value);
  if (error != std::errc() || end == line.data()) return {};
  return value;
}

char Thread::state() const {
  char text[1024];
  const std::string_view rest = behind_name(read_start(state_.number(), text));
  return rest.empty() || rest.front() == 'Z' ? 'X' : rest.front();
}

TaskClock::TaskClock(pid_t thread, Nanoseconds before) : before_(before) {
  perf_event_attr wanted{};
  wanted.size = sizeof wanted;
  wanted.type = PERF_TYPE_SOFTWARE;
  wanted.config = PERF_COUNT_SW_TASK_CLOCK;
  wanted.exclude_kernel = 1;  // counts the same, and needs less right
  const auto file =
      static_cast<int>(syscall(SYS_perf_event_open, &wanted, thread, -1, -1, PERF_FLAG_FD_CLOEXEC));
  error_ = file < 0 ? errno : 0;
  if (file >= 0) file_ = std::make_shared<const Descriptor>(file);
}

std::optional<Nanoseconds> TaskClock::consumed() const {
  std::uint64_t count = 0;
  if (!file_ || read(file_->number(), &count, sizeof count) != sizeof count) return {};
  return before_ + static_cast<Nanoseconds>(count);
}

std::vector<pid_t> threads_of(pid_t process) {
  std::vector<pid_t> threads;
  std::error_code error;
  std::filesystem::directory_iterator entry(fmt::format("/proc/{}/task", process), error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename();
    pid_t thread = 0;
    std::from_chars(name.data(), name.data() + name.size(), thread);
    if (thread > 0) threads.push_back(thread);
  }
  std::sort(threads.begin(), threads.end());
  return threads;
}

std::uint64_t birth_of(pid_t process, pid_t thread) {
  const Descriptor file(::open(path_of(process, thread, "stat").c_str(), O_RDONLY | O_CLOEXEC));
  char text[1024];
  return file ? field_of(read_start(file.number(), text), kFieldOfBirth) : 0;
}

std::string name_of(pid_t process, pid_t thread) {
  const Descriptor file(::open(path_of(process, thread, "comm").c_str(), O_RDONLY | O_CLOEXEC));
  char text[64];
  std::string_view name = file ? read_start(file.number(), text) : "";
  if (name.ends_with('\n')) name.remove_suffix(1);
  return std::string(name);
}

}  // namespace orrery::director
