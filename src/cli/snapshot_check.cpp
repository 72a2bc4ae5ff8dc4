// SPDX-License-Identifier: Apache-2.0
#include "cli/snapshot_check.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include "orrery/error.h"
#include "transport/ranks/mpi_wire.h"

namespace orrery::cli {
namespace {

namespace fs = std::filesystem;

/// Runs this program with these words; returns its exit status, or -1.
int run_program(std::vector<std::string> words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);  // this thread may have blocked some signals
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const int error = posix_spawn(&child, "/proc/self/exe", &actions, &attributes, pointers.data(),
                                transport::MpiEnvironment::left_out().data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) return -1;
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return -1;
  return status;
}

struct Removed {
  std::string folder;
  ~Removed() {
    std::error_code ignored;
    fs::remove_all(folder, ignored);
  }
};

}  // namespace

std::string check_snapshot(const std::string& out, unsigned first, unsigned second) {
  const snapshot::Folder folder(out);
  const snapshot::Manifest begin = folder.read_manifest(first), end = folder.read_manifest(second);
  const Removed other{folder.path() + "/check"};
  const int status = run_program({"orrery", "fork", out, "--snapshot", std::to_string(first),
                                  "--out", other.folder, "--force", "--engine", "sequential",
                                  "--snapshot-at", fmt::format("{}ticks", end.cut.time().ticks()),
                                  "--end-after-snapshot", "--quiet"});
  const std::string what = fmt::format("the snapshot at {}, resumed in another process up to {},",
                                       begin.time(), end.time());
  if (status != 0)
    throw ModelFault(fmt::format("{} ended with {} {}", what,
                                 WIFSIGNALED(status) ? "signal" : "exit code",
                                 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status)));
  const snapshot::Folder found(other.folder);
  const std::vector<unsigned> numbers = found.numbers();
  if (numbers.empty()) throw ModelFault(what + " left nothing");
  const snapshot::Manifest there = found.read_manifest(numbers.back());
  // Does not compare pending events: engines drop cancelled timers at different times.
  if (there.fingerprint == end.fingerprint && there.committed == end.committed)
    return what + " came to the same world (--snapshot-check)";
  std::string hint;
  for (const snapshot::Reference& one : begin.references)
    hint += fmt::format("; LPs hold {} words that look like addresses in {}", one.words, one.path);
  throw ModelFault(what +
                   " came to another world: the model keeps something outside of its LPs and of "
                   "what it prepares" +
                   hint);
}

}  // namespace orrery::cli
