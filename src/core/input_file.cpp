// SPDX-License-Identifier: Apache-2.0
#include "orrery/input_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/input_listener.h"
#include "memory/platform_local.h"
#include "orrery/error.h"

namespace orrery {
namespace {

thread_local InputListener* listener = nullptr;
const memory::PlatformLocal listener_is_of_the_platform([] { return &listener; });

constexpr std::string_view kUtf8Mark = "\xef\xbb\xbf";
constexpr std::string_view kUtf16Marks[] = {"\xff\xfe", "\xfe\xff"};

/// An open file, closed at the end of the scope.
struct Descriptor {
  // Without O_NONBLOCK, opening a pipe without a writer would wait for one.
  explicit Descriptor(const std::string& path)
      : number(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number >= 0) close(number);
  }
  const int number;
};

const char* kind_text(mode_t mode) {
  if (S_ISDIR(mode)) return "it is a directory";
  if (S_ISFIFO(mode)) return "it is a pipe";
  if (S_ISSOCK(mode)) return "it is a socket";
  return "it is a device";
}

/// Returns false with errno set on failure.
bool read_all(int file, std::string& text) {
  char buffer[65536];
  for (;;) {
    const ssize_t n = read(file, buffer, sizeof buffer);
    if (n > 0)
      text.append(buffer, static_cast<std::size_t>(n));
    else if (n == 0)
      return true;
    else if (errno != EINTR)
      return false;
  }
}

}  // namespace

Listening::Listening(InputListener& one) : before_(listener) {
  listener = &one;
}
Listening::~Listening() {
  listener = before_;
}

std::string read_input_file(const std::string& path, std::string_view what) {
  const std::string named = fmt::format("{}{}'{}'", what, what.empty() ? "" : " ", path);
  const auto refuse = [&](const char* why) {
    throw UsageError(fmt::format("cannot read {}: {}", named, why));
  };
  const Descriptor file(path);
  struct stat facts {};
  if (file.number < 0 || fstat(file.number, &facts) != 0) refuse(std::strerror(errno));
  if (!S_ISREG(facts.st_mode))
    refuse(fmt::format("{}, a file is expected", kind_text(facts.st_mode)).c_str());
  std::string text;
  text.reserve(static_cast<std::size_t>(facts.st_size));
  if (!read_all(file.number, text)) refuse(std::strerror(errno));
  if (listener != nullptr) listener->heard(path, text);
  for (const std::string_view mark : kUtf16Marks)
    if (text.starts_with(mark)) refuse("it is UTF-16 text; save it as UTF-8");
  if (text.starts_with(kUtf8Mark)) text.erase(0, kUtf8Mark.size());
  if (text.empty()) refuse("it is empty");
  return text;
}

}  // namespace orrery
