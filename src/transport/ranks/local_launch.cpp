// SPDX-License-Identifier: Apache-2.0
#include "transport/ranks/local_launch.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "core/process.h"
#include "transport/ranks/local_wire.h"
#include "transport/ranks/shared_rings.h"

namespace orrery::transport {
namespace {

/// "1:9:5,-1,7": the rank, the memory that all share, and its socket to each rank.
constexpr const char* kVariable = "ORRERY_LOCAL_RANK";

/// Time for rank 0 to report an error before another rank's death is reported instead.
constexpr double kPatienceSeconds = 0.5;
/// Time for the other ranks to end when rank 0 has ended.
constexpr double kPartingSeconds = 2;

using Sockets = std::vector<std::vector<int>>;  ///< by rank, then by the rank at the other end

[[noreturn]] void refuse(const char* what) {
  throw RankRefused(std::string("the system refused ") + what + " (" + std::strerror(errno) +
                    "); use fewer --ranks");
}

/// Each rank needs one socket for each other rank, and this process briefly has all of them.
void allow_many_files() {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);  // if not, socketpair says so
}

Sockets make_sockets(unsigned ranks) {
  allow_many_files();
  Sockets sockets(ranks, std::vector<int>(ranks, -1));
  for (unsigned a = 0; a < ranks; ++a)
    for (unsigned b = a + 1; b < ranks; ++b) {
      int pair[2];
      if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        refuse("the sockets between ranks");
      sockets[a][b] = pair[0];
      sockets[b][a] = pair[1];
    }
  return sockets;
}

/// Whether a rank handles this signal instead of dying of it: it watches its run (and blocks the
/// signal) or ignores it. A rank that begins does not handle it yet; it begins with this process's
/// signal mask, which includes SIGCHLD.
bool heeds(pid_t pid, int number) {
  const auto has = [](std::uint64_t mask, int one) { return ((mask >> (one - 1)) & 1) != 0; };
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  bool heeded = false, told = false;
  for (std::string line; std::getline(status, line);) {
    const bool is_blocked = line.starts_with("SigBlk:");
    if (!is_blocked && !line.starts_with("SigIgn:") && !line.starts_with("SigCgt:")) continue;
    const std::uint64_t mask = std::strtoull(line.c_str() + std::strlen("SigBlk:"), nullptr, 16);
    if (is_blocked && has(mask, SIGCHLD)) return false;
    heeded = heeded || has(mask, number);
    told = true;
  }
  return heeded || !told;
}

double now_seconds() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

class Launch {
 public:
  Launch(unsigned ranks, char* const* arguments, std::vector<std::string> environment)
      : environment_(std::move(environment)), children_(ranks) {
    for (; *arguments != nullptr; ++arguments) words_.emplace_back(*arguments);
  }
  ~Launch() {
    if (memory_ >= 0) close(memory_);
  }
  Launch(const Launch&) = delete;
  Launch& operator=(const Launch&) = delete;

  LaunchEnd run() {
    block_signals();
    start_all();
    while (!is_over()) wait_for_signal();
    end_all();
    sigprocmask(SIG_SETMASK, &before_, nullptr);
    return told();
  }

 private:
  struct Child {
    pid_t pid = 0;
    std::optional<int> status;
  };

  void block_signals() {
    sigemptyset(&signals_);
    for (const int number : {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGUSR1})
      sigaddset(&signals_, number);
    sigprocmask(SIG_BLOCK, &signals_, &before_);
  }

  void start_all() {
    const Sockets sockets = make_sockets(static_cast<unsigned>(children_.size()));
    const int memory = SharedRings::create(static_cast<unsigned>(children_.size()));
    if (memory < 0) refuse("the memory that ranks share");
    memory_ = memory;
    for (unsigned rank = 0; rank < children_.size(); ++rank) {
      children_[rank].pid = start(rank, memory, sockets[rank]);
      setpgid(children_[rank].pid, children_[0].pid);
    }
    for (const auto& row : sockets)
      for (const int socket : row)
        if (socket >= 0) close(socket);
  }

  /// The ranks are a process group of their own, so that a terminal's Ctrl-C reaches the parent
  /// alone.
  pid_t start(unsigned rank, int memory, const std::vector<int>& sockets) {
    std::string place =
        std::string(kVariable) + "=" + std::to_string(rank) + ":" + std::to_string(memory) + ":";
    for (const int socket : sockets) place += std::to_string(socket) + ",";
    ProcessStart start{.words = words_,
                       .descriptors = {{memory, memory}},
                       .mask = &before_,
                       .group = rank == 0 ? 0 : children_[0].pid,
                       .dies_with_this = true};
    for (const int socket : sockets)
      if (socket >= 0) start.descriptors.emplace_back(socket, socket);
    for (char** one = environ; *one != nullptr; ++one) start.environment.push_back(*one);
    for (std::string& one : environment_) start.environment.push_back(one.data());
    start.environment.insert(start.environment.end(), {place.data(), nullptr});
    try {
      return start_process(start);
    } catch (const std::system_error& error) {
      end_all();
      errno = error.code().value();
      refuse("the processes for the ranks");
    }
  }

  void wait_for_signal() {
    const timespec most{0, held_ != 0 ? 5'000'000 : 50'000'000};
    const int number = sigtimedwait(&signals_, nullptr, &most);
    if (number == SIGCHLD || number < 0)
      reap();
    else
      take_signal(number);
    if (held_ != 0 && heeds(children_[0].pid, held_)) pass_on(std::exchange(held_, 0));
  }

  /// A request to stop that comes before the run has begun is held until then, so that the run has
  /// results; a second request is not held.
  void take_signal(int number) {
    const bool may_wait = held_ == 0 && (number == SIGINT || number == SIGTERM);
    if (may_wait && !heeds(children_[0].pid, number))
      held_ = number;
    else
      pass_on(number);
  }

  void pass_on(int number) {
    asked_ = number;
    if (!children_[0].status) kill(children_[0].pid, number);
  }

  void reap() {
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;)
      for (unsigned rank = 0; rank < children_.size(); ++rank)
        if (children_[rank].pid == pid) note_end(rank, status);
  }

  /// Ranks other than 0 end with code 0 in a regular end; any other end is a failure.
  void note_end(unsigned rank, int status) {
    children_[rank].status = status;
    const bool lost = WIFEXITED(status) && WEXITSTATUS(status) == kExitLostRank;
    const bool in_order = WIFEXITED(status) && (rank == 0 || WEXITSTATUS(status) == 0);
    if (lost) {
      if (first_seconds_ == 0) first_seconds_ = now_seconds();
      return;
    }
    if (in_order && rank != 0) return;
    if (first_seconds_ == 0 || !culprit_) first_seconds_ = now_seconds();
    if (!in_order && !culprit_) culprit_ = rank;
  }

  bool is_over() const {
    if (std::all_of(children_.begin(), children_.end(), [](const Child& c) { return c.status; }))
      return true;
    const double waited = first_seconds_ == 0 ? 0 : now_seconds() - first_seconds_;
    if (rank_0_has_told()) return waited > kPartingSeconds;
    return waited > kPatienceSeconds || (culprit_ && *culprit_ == 0);
  }

  /// Whether rank 0 has ended by itself, and not because it has lost another rank.
  bool rank_0_has_told() const {
    const std::optional<int>& status = children_[0].status;
    return status && WIFEXITED(*status) && WEXITSTATUS(*status) != kExitLostRank;
  }

  void end_all() {
    for (Child& child : children_)
      if (child.pid > 0 && !child.status) kill(child.pid, SIGKILL);
    for (Child& child : children_) {
      if (child.pid <= 0 || child.status) continue;
      child.status = wait_for_process(child.pid);
    }
  }

  LaunchEnd told() const {
    if (rank_0_has_told()) return {.code = WEXITSTATUS(*children_[0].status)};
    const int status = culprit_ ? *children_[*culprit_].status : 0;
    if (asked_ != 0 && culprit_ == 0u && WIFSIGNALED(status) && WTERMSIG(status) == asked_)
      return {.code = 128 + asked_};
    // As for a single process whose output nobody reads.
    if (culprit_ == 0u && WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE)
      return {.code = 128 + SIGPIPE};
    LaunchEnd end{.is_lost = true};
    if (!culprit_) return end;
    const std::string about =
        SharedRings::read_about(memory_, static_cast<unsigned>(children_.size()), *culprit_);
    end.death = RankDeath{*culprit_, status,
                          "rank " + std::to_string(*culprit_) + " (process " +
                              std::to_string(children_[*culprit_].pid) +
                              (about.empty() ? "" : ", ") + about + ") " + end_text(status)};
    return end;
  }

  std::vector<std::string> words_;
  std::vector<std::string> environment_;
  std::vector<Child> children_;
  sigset_t signals_{}, before_{};
  int asked_ = 0;             ///< the last signal that was passed on
  int held_ = 0;              ///< a signal that will be; 0: none
  double first_seconds_ = 0;  ///< when the run began to end; 0: it has not
  std::optional<unsigned> culprit_;
  int memory_ = -1;  ///< of the ranks
};

}  // namespace

LaunchEnd launch_local(unsigned ranks, char* const* arguments,
                       std::vector<std::string> environment) {
  return Launch(ranks, arguments, std::move(environment)).run();
}

bool is_local_rank() {
  return getenv(kVariable) != nullptr;
}

std::unique_ptr<Wire> join_local() {
  const char* const variable = getenv(kVariable);
  if (variable == nullptr) return nullptr;
  const std::string place = variable;
  unsetenv(kVariable);  // processes that a model starts are no ranks
  const char* at = place.data();
  const char* const end = at + place.size();
  unsigned rank = 0;
  int memory = -1;
  at = std::from_chars(at, end, rank).ptr + 1;
  at = std::from_chars(at, end, memory).ptr + 1;
  fcntl(memory, F_SETFD, FD_CLOEXEC);
  std::vector<int> sockets;
  while (at < end) {
    int socket = -1;
    at = std::from_chars(at, end, socket).ptr + 1;
    if (socket >= 0) fcntl(socket, F_SETFD, FD_CLOEXEC);
    sockets.push_back(socket);
  }
  return make_local_wire(rank, memory, std::move(sockets));
}

}  // namespace orrery::transport
