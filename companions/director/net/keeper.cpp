// SPDX-License-Identifier: Apache-2.0
#include "director/net/keeper.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <vector>

#include "orrery/error.h"

namespace orrery::director {
namespace {

/// A machine, and when it was born: another process may have its number later.
struct Kept {
  pid_t process;
  std::uint64_t born;
};

[[noreturn]] void keep_until_the_end(int pipe) {
  prctl(PR_SET_NAME, "orrery-keeper");
  setsid();
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) std::signal(signal, SIG_IGN);
  if (pipe > 3) close_range(3, static_cast<unsigned>(pipe) - 1, 0);
  close_range(static_cast<unsigned>(pipe) + 1, ~0U, 0);
  std::vector<Kept> all;
  for (Kept one;;) {
    const ssize_t bytes = read(pipe, &one, sizeof one);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes != sizeof one) break;
    all.push_back(one);
  }
  for (const Kept& one : all)
    if (birth_of(one.process, one.process) == one.born) kill(one.process, SIGKILL);
  _exit(0);
}

}  // namespace

Keeper::Keeper() {
  std::array<int, 2> ends;
  if (pipe2(ends.data(), O_CLOEXEC) != 0)
    throw UsageError(fmt::format("a pipe cannot be made: {}", std::strerror(errno)));
  const Descriptor reading(ends[0]);
  pipe_ = Descriptor(ends[1]);
  process_ = fork();
  if (process_ < 0)
    throw UsageError(fmt::format("no process can be started: {}", std::strerror(errno)));
  if (process_ == 0) keep_until_the_end(reading.number());
}

Keeper::~Keeper() {
  pipe_ = Descriptor();
  waitpid(process_, nullptr, 0);
}

void Keeper::keep(pid_t machine) {
  const Kept one{.process = machine, .born = birth_of(machine, machine)};
  if (write(pipe_.number(), &one, sizeof one) != sizeof one)
    throw UsageError(
        fmt::format("the process that ends machines is gone: {}", std::strerror(errno)));
}

}  // namespace orrery::director
