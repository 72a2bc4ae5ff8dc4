// SPDX-License-Identifier: Apache-2.0
#include "cli/rank_launch.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "core/machine.h"
#include "orrery/error.h"
#include "snapshot/folder.h"
#include "transport/ranks/local_launch.h"
#include "transport/ranks/mpi_wire.h"

namespace orrery::cli {
namespace {

namespace fs = std::filesystem;
using transport::LaunchEnd;
using FileTime = fs::file_time_type;

constexpr const char* kVariable = "ORRERY_SURVIVED";

unsigned rank_count(std::string_view text, const std::string& whole) {
  unsigned ranks = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), ranks);
  if (read.ec == std::errc() && read.ptr == text.data() + text.size() && ranks >= 1 &&
      ranks <= transport::kMostLocalRanks)
    return ranks;
  throw UsageError(fmt::format(
      "--ranks can be 1 to {}, or two such numbers with '..' between, not '{}'; more need an MPI "
      "launcher",
      transport::kMostLocalRanks, whole));
}

/// The number for a start now: of 2..8, as many as there are cores.
unsigned asked_ranks(const RankRequest& request) {
  const std::string& text = request.ranks;
  if (text.empty()) return 1;
  const std::size_t dots = text.find("..");
  if (dots == std::string::npos) return rank_count(text, text);
  const unsigned least = rank_count(std::string_view(text).substr(0, dots), text);
  const unsigned most = rank_count(std::string_view(text).substr(dots + 2), text);
  if (least > most)
    throw UsageError(fmt::format("--ranks {}: the first number must not be the larger", text));
  return std::clamp(granted_cores(), least, most);
}

class Launches {
 public:
  Launches(const RankRequest& request, char* const* argv, const std::string& folder)
      : request_(request), argv_(argv), folder_(folder) {}

  int run() {
    for (;;) {
      started_ = FileTime::clock::now();
      const LaunchEnd end = transport::launch_local(asked_ranks(request_), argv_, environment());
      if (!end.is_lost) return end.code;
      const std::string what = end.death ? end.death->text + " before the run was over"
                                         : std::string("the connection between ranks was lost");
      if (!goes_on(end)) {
        fmt::print(stderr, "orrery: {}, so the run is ended, and {}\n", what, rest());
        return kExitSystem;
      }
      note_loss();
      fmt::print(stderr, "orrery: {}; the run goes on from {}, {:.2g} s of work are lost\n", what,
                 newest_ == 0 ? "its beginning" : fmt::format("snapshot {}", newest_), last_lost_);
    }
  }

 private:
  /// A rank that has ended by itself has said why, and would do so again.
  bool goes_on(const LaunchEnd& end) {
    if (!request_.survive || !end.death || !WIFSIGNALED(end.death->status)) return false;
    if (const unsigned newest = newest_snapshot(); newest != newest_) {
      newest_ = newest;
      seen_.clear();
    }
    is_repeated_ = !seen_.insert({end.death->rank, WTERMSIG(end.death->status)}).second;
    return !is_repeated_;
  }

  std::string rest() const {
    if (is_repeated_)
      return "not started again, since the same has happened before, with no new snapshot between";
    if (folder_.empty()) return "what it had computed is lost";
    return fmt::format("'orrery resume {}' goes on from its last snapshot, if it has one", folder_);
  }

  /// The number of the last snapshot that this run has taken or begun with; 0: none. A folder may
  /// hold those of an earlier run until this one replaces them.
  unsigned newest_snapshot() const {
    const snapshot::Folder snapshots(folder_);
    const std::vector<unsigned> numbers = snapshots.numbers();
    if (numbers.empty()) return 0;
    if (newest_ == 0 && written(snapshots, numbers.back()) < first_start_) return 0;
    return numbers.back();
  }
  static FileTime written(const snapshot::Folder& snapshots, unsigned number) {
    std::error_code gone;
    return fs::last_write_time(snapshots.manifest_of(number), gone);
  }

  void note_loss() {
    FileTime from = started_;
    if (newest_ > 0) from = std::max(from, written(snapshot::Folder(folder_), newest_));
    last_lost_ = std::chrono::duration<double>(FileTime::clock::now() - from).count();
    survived_.lost_seconds += last_lost_;
    survived_.from_snapshot = newest_ > 0;
    ++survived_.deaths;
  }

  std::vector<std::string> environment() const {
    if (survived_.deaths == 0) return {};
    return {fmt::format("{}={},{},{}", kVariable, survived_.deaths, survived_.lost_seconds,
                        survived_.from_snapshot ? 1 : 0)};
  }

  const RankRequest& request_;
  char* const* argv_;
  const std::string folder_;
  const FileTime first_start_ = FileTime::clock::now();
  FileTime started_;
  unsigned newest_ = 0;                      ///< snapshot at the last death
  std::set<std::pair<unsigned, int>> seen_;  ///< ranks and signals of deaths since then
  bool is_repeated_ = false;
  double last_lost_ = 0;
  Survived survived_;
};

}  // namespace

std::string Survived::text() const {
  return fmt::format("{} rank{} died during the run; {:.2g} s of work were lost and done again",
                     deaths, deaths == 1 ? "" : "s", lost_seconds);
}

Survived Survived::take() {
  Survived survived;
  const char* const text = std::getenv(kVariable);
  if (text == nullptr) return survived;
  int from_snapshot = 0;
  if (std::sscanf(text, "%u,%lf,%d", &survived.deaths, &survived.lost_seconds, &from_snapshot) != 3)
    survived = {};
  survived.from_snapshot = from_snapshot != 0;
  unsetenv(kVariable);
  return survived;
}

std::optional<int> launch_ranks(const RankRequest& request, char* const* argv,
                                const std::string& folder) {
  if (transport::is_local_rank()) return std::nullopt;
  const unsigned ranks = asked_ranks(request);
  if (request.survive && request.ranks.empty())
    throw UsageError(
        "--survive needs --ranks: it starts ranks again that have died; a run in one process goes "
        "on by 'orrery resume'");
  if (request.survive && folder.empty())
    throw UsageError("--survive needs --out: snapshots lie in the folder of the results");
  if (ranks == 1 && !request.survive) return std::nullopt;
  const transport::MpiEnvironment found = transport::MpiEnvironment::now();
  if (found.any() && found.ranks != 1)
    throw UsageError(
        "--ranks starts ranks on this machine, and an MPI launcher has started some "
        "already: give one of both");
  return Launches(request, argv, folder).run();
}

}  // namespace orrery::cli
