// SPDX-License-Identifier: Apache-2.0
#include "cli/snapshot_check.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "core/descriptor.h"
#include "core/process.h"
#include "orrery/error.h"
#include "run/threads/supervised_run.h"
#include "transport/ranks/mpi_wire.h"

namespace orrery::cli {
namespace {

namespace fs = std::filesystem;

/// Runs this program with these words; returns its exit status.
int run_program(std::vector<std::string> words) try {
  sigset_t none;
  sigemptyset(&none);  // this thread may have blocked some signals
  const Descriptor null(open("/dev/null", O_WRONLY | O_CLOEXEC));
  return wait_for_process(start_process({.words = std::move(words),
                                         .descriptors = {{null.get(), STDOUT_FILENO}},
                                         .mask = &none,
                                         .environment = transport::MpiEnvironment::left_out()}));
} catch (const std::system_error& error) {
  throw SystemFailure(
      fmt::format("cannot start the check of a snapshot: {}", error.code().message()));
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
  if (status != 0) throw ModelFault(what + " " + end_text(status));
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
