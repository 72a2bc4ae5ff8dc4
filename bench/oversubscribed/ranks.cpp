// SPDX-License-Identifier: Apache-2.0
//
// Small simulators of processes that share a machine, to see what it costs that there are more of
// them than cores. A model (phold.h, epidemic.h, traffic.h) is run by a kernel (sequential.h,
// conservative.h, optimistic.h) in ranks that are processes; what a rank does that has to wait is
// what is compared (way.h). Everything is in one program and as small as it can be, so that the
// ways differ in nothing else; the loops are those of simulators over MPI.
//
// Prints JSON. All kernels, ways and numbers of ranks commit the same events: the fingerprint says
// so. A run that takes too long is given up and says how far it has come.
//
//   oversubscribed_ranks model=phold kernel=optimistic way=llf ranks=8
//   oversubscribed_ranks kernel=sequential ranks=1
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include "conservative.h"
#include "epidemic.h"
#include "optimistic.h"
#include "phold.h"
#include "sequential.h"
#include "traffic.h"

namespace oversubscribed {
namespace {

using RunRank = void (*)(const Shared&, unsigned rank);

template <template <class> class Kernel, class Model>
void run_rank(const Shared& shared, unsigned rank) {
  Kernel<Model>(shared, rank).run();
}
template <class Model>
RunRank kernel_of(const std::string& name) {
  if (name == "sequential") return run_rank<Sequential, Model>;
  return name == "optimistic" ? run_rank<Optimistic, Model> : run_rank<Conservative, Model>;
}
RunRank rank_of(const Setting& setting) {
  if (setting.model == "phold") return kernel_of<Phold>(setting.kernel);
  if (setting.model == "epidemic") return kernel_of<Epidemic>(setting.kernel);
  return kernel_of<Traffic>(setting.kernel);
}

double now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

/// Processes of ours; they end with us, however we end.
class Children {
 public:
  Children() {
    sigemptyset(&child_);
    sigaddset(&child_, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child_, &before_);
  }
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;
  ~Children() {
    kill_all();
    sigprocmask(SIG_SETMASK, &before_, nullptr);
  }

  template <class Body>
  void start(Body&& body) {
    const pid_t parent = getpid(), child = fork();
    if (child < 0) throw std::runtime_error("the system makes no more processes");
    if (child > 0) return processes_.push_back(child);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    sigprocmask(SIG_SETMASK, &before_, nullptr);
    _exit(body());
  }
  /// False if some have not ended after so many seconds. Throws if one has failed.
  bool wait_for_all(double seconds) {
    const double end = now() + seconds;
    for (;;) {
      reap();
      const double left = end - now();
      if (processes_.empty()) return true;
      if (left <= 0) return false;
      const timespec most{static_cast<time_t>(left),
                          static_cast<long>((left - static_cast<time_t>(left)) * 1e9)};
      sigtimedwait(&child_, nullptr, &most);
    }
  }
  void kill_all() {
    for (const pid_t one : processes_) kill(one, SIGKILL);
    for (const pid_t one : processes_) waitpid(one, nullptr, 0);
    processes_.clear();
  }

 private:
  void reap() {
    for (std::size_t i = 0; i < processes_.size();) {
      int status = 0;
      if (waitpid(processes_[i], &status, WNOHANG) != processes_[i]) {
        ++i;
        continue;
      }
      processes_.erase(processes_.begin() + static_cast<std::ptrdiff_t>(i));
      if (status != 0) throw std::runtime_error("a rank has failed");
    }
  }
  sigset_t child_{}, before_{};
  std::vector<pid_t> processes_;
};

int simulate(const Shared& shared, unsigned rank) {
  try {
    rank_of(shared.setting())(shared, rank);
    return 0;
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "oversubscribed_ranks: rank %u: %s\n", rank, failure.what());
    return 1;
  }
}
int compute() {
  volatile std::uint64_t computed = 0;
  for (;;) computed = mix(computed);
}

void print(const Shared& shared, double seconds, bool complete, const rusage& usage) {
  std::uint64_t committed = 0, executed = 0, rollbacks = 0, rounds = 0, fingerprint = 0;
  for (unsigned rank = 0; rank < shared.setting().ranks; ++rank) {
    const Board& board = shared.board(rank);
    committed += board.committed.load(std::memory_order_relaxed);
    executed += board.executed;
    rollbacks += board.rollbacks;
    rounds = std::max(rounds, board.rounds);
    fingerprint += board.fingerprint;
  }
  const auto of = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  std::printf("{\"complete\": %s, \"seconds\": %.6f, \"committed\": %llu, \"rate\": %.1f, ",
              complete ? "true" : "false", seconds, static_cast<unsigned long long>(committed),
              static_cast<double>(committed) / seconds);
  std::printf("\"executed\": %llu, \"efficiency\": %.4f, \"rollbacks\": %llu, \"rounds\": %llu, ",
              static_cast<unsigned long long>(executed),
              executed == 0 ? 1 : static_cast<double>(committed) / static_cast<double>(executed),
              static_cast<unsigned long long>(rollbacks), static_cast<unsigned long long>(rounds));
  if (complete)
    std::printf("\"fingerprint\": \"%016llx\", ", static_cast<unsigned long long>(fingerprint));
  std::printf("\"switches\": %ld, \"cpu_seconds\": %.3f}\n", usage.ru_nvcsw + usage.ru_nivcsw,
              of(usage.ru_utime) + of(usage.ru_stime));
}

int run(const Setting& setting) {
  const Shared shared(setting);
  Children hogs;
  for (unsigned i = 0; i < setting.hogs; ++i) hogs.start(compute);
  const double begin = now();
  bool complete = false;
  {
    Children ranks;
    for (unsigned rank = 0; rank < setting.ranks; ++rank)
      ranks.start([&] { return simulate(shared, rank); });
    complete = ranks.wait_for_all(setting.limit);
  }
  const double seconds = now() - begin;
  if (!complete) Way::clean(getpid());
  rusage usage;
  getrusage(RUSAGE_CHILDREN, &usage);  // the hogs are not among them yet
  print(shared, seconds, complete, usage);
  return 0;
}

}  // namespace
}  // namespace oversubscribed

int main(int count, char** words) {
  try {
    return oversubscribed::run(oversubscribed::setting_of({words + 1, words + count}));
  } catch (const oversubscribed::WrongWord& wrong) {
    std::fprintf(stderr, "oversubscribed_ranks: %s\n", wrong.what());
    return 2;
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "oversubscribed_ranks: %s\n", failure.what());
    return 1;
  }
}
