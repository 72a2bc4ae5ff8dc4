// SPDX-License-Identifier: Apache-2.0
//
// A small conservative simulator over MPI, of the kind that spins: PHOLD (Fujimoto 1990) in windows
// of a lookahead (Nicol's YAWNS), with a loop as simulators over MPI have it, ROSS for one. It
// tests its sends and receives, executes what is safe, and after some turns of the loop computes
// GVT: by MPI_Allreduce, again until no message is on its way. It was written for this comparison;
// it is not ROSS. How it shares a machine is what is compared:
//   spin    as it is
//   yield   it calls sched_yield() in each turn that found nothing
//   llf     it calls liborrery-llf: its LVT, announcements, waits, and GVT by llf_gvt
// and, by `orrery llf run`, spin with a shim between it and MPI. Prints JSON. The fingerprint is
// the same for all ways and numbers of ranks.
//
//   mpi_phold WAY LPS END WORK REMOTE_PERCENT
#include <mpi.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <limits>
#include <queue>
#include <string>
#include <vector>

#include "orrery/llf.h"

namespace {

constexpr std::int64_t kLookahead = 100;  // ticks; the mean delay is ten times as long
constexpr std::int64_t kEver = std::numeric_limits<std::int64_t>::max() / 2;
constexpr int kReceives = 16;  // posted at a time
constexpr int kBatch = 16;     // events between two looks at the network
constexpr int kGvtTurns = 16;  // of the loop between two computations of GVT
constexpr int kTag = 1;

struct Event {
  std::int64_t time;
  std::uint64_t number;  ///< its random numbers are made of it
  std::uint64_t lp;
  bool operator>(const Event& other) const {
    return time != other.time ? time > other.time : number > other.number;
  }
};

struct Setting {
  std::string way;
  std::uint64_t lps;
  std::int64_t end;
  unsigned work;
  double remote;
};

std::uint64_t mix(std::uint64_t x) {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}
double uniform(std::uint64_t number, unsigned which) {
  return static_cast<double>(mix(number + which * 0x9e3779b97f4a7c15) >> 11) * 0x1p-53;
}

/// Messages as they come and go, tested in each turn of the loop.
class Network {
 public:
  Network() {
    for (int i = 0; i < kReceives; ++i) receive(i);
  }
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;
  ~Network() {
    for (MPI_Request& one : receives_) {
      MPI_Cancel(&one);
      MPI_Wait(&one, MPI_STATUS_IGNORE);
    }
  }
  void send(const Event& event, int to) {
    sent_events_.push_back(event);
    MPI_Request request;
    MPI_Isend(&sent_events_.back(), sizeof(Event), MPI_BYTE, to, kTag, MPI_COMM_WORLD, &request);
    sends_.push_back(request);
    ++balance_;
  }
  /// Whether anything has come or gone.
  template <class Visit>
  bool poll(Visit&& visit) {
    const bool gone = finish_sends();
    int count = 0;
    std::array<int, kReceives> indices;
    MPI_Testsome(kReceives, receives_.data(), &count, indices.data(), MPI_STATUSES_IGNORE);
    for (int i = 0; i < count; ++i) {
      const int at = indices[static_cast<unsigned>(i)];
      visit(buffers_[static_cast<unsigned>(at)]);
      --balance_;
      receive(at);
    }
    return gone || count > 0;
  }
  /// Messages sent less messages received.
  std::int64_t balance() const { return balance_; }

 private:
  void receive(int at) {
    const auto i = static_cast<unsigned>(at);
    MPI_Irecv(&buffers_[i], sizeof(Event), MPI_BYTE, MPI_ANY_SOURCE, kTag, MPI_COMM_WORLD,
              &receives_[i]);
  }
  bool finish_sends() {
    bool any = false;
    while (!sends_.empty()) {
      int complete = 0;
      MPI_Test(&sends_.front(), &complete, MPI_STATUS_IGNORE);
      if (complete == 0) break;
      sends_.pop_front();
      sent_events_.pop_front();
      any = true;
    }
    return any;
  }

  std::array<Event, kReceives> buffers_;
  std::array<MPI_Request, kReceives> receives_;
  std::deque<Event> sent_events_;  // addresses stay
  std::deque<MPI_Request> sends_;
  std::int64_t balance_ = 0;
};

/// What a rank does where it has nothing to do, and what it tells the others.
class Way {
 public:
  Way(const std::string& name, int rank, int ranks) : yields_(name == "yield") {
    if (name != "llf") return;
    int process = getpid();
    MPI_Bcast(&process, 1, MPI_INT, 0, MPI_COMM_WORLD);
    const std::string group = "mpi-phold." + std::to_string(process);
    federate_ = llf_join(group.c_str(), std::to_string(rank).c_str(), nullptr);
    if (federate_ == nullptr || llf_meet(federate_, static_cast<unsigned>(ranks), -1) != 0) fail();
    for (int i = 0; i < ranks; ++i)
      peers_.push_back(llf_find(federate_, std::to_string(i).c_str()));
  }
  Way(const Way&) = delete;
  Way& operator=(const Way&) = delete;
  ~Way() { llf_leave(federate_); }

  void before_polling() {
    if (federate_ != nullptr) llf_messages_read(federate_);
  }
  void sent(int to, std::int64_t time) {
    if (federate_ != nullptr) llf_message_to(federate_, peers_[static_cast<unsigned>(to)], time);
  }
  /// Nothing can be executed before GVT is known again.
  void idle() {
    if (yields_) sched_yield();
  }
  void next_event(std::int64_t time) {
    if (federate_ == nullptr) return;
    if (llf_lvt(federate_, std::min<llf_time>(time, LLF_NEVER)) < 0) fail();
    if (llf_safe_point(federate_) < 0) fail();
  }
  /// `lowest` and `balance` of all ranks.
  void reduce(std::int64_t& lowest, std::int64_t& balance) {
    if (federate_ != nullptr) {
      llf_time gvt;
      if (llf_gvt(federate_, std::min<llf_time>(lowest, LLF_NEVER), balance, &gvt, &balance) < 0)
        fail();
      lowest = gvt == LLF_NEVER ? kEver : gvt;
      return;
    }
    std::int64_t sum = 0, least = 0;
    MPI_Allreduce(&balance, &sum, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    balance = sum;
    if (sum != 0) return;
    MPI_Allreduce(&lowest, &least, 1, MPI_INT64_T, MPI_MIN, MPI_COMM_WORLD);
    lowest = least;
  }

 private:
  [[noreturn]] static void fail() {
    std::fprintf(stderr, "mpi_phold: %s\n", llf_error());
    MPI_Abort(MPI_COMM_WORLD, 1);
    std::abort();
  }
  const bool yields_;
  llf* federate_ = nullptr;
  std::vector<int> peers_;
};

class Rank {
 public:
  Rank(const Setting& setting, int rank, int ranks)
      : setting_(setting), rank_(rank), ranks_(ranks), way_(setting.way, rank, ranks) {
    for (auto lp = static_cast<std::uint64_t>(rank); lp < setting_.lps;
         lp += static_cast<std::uint64_t>(ranks))
      pending_.push({static_cast<std::int64_t>(uniform(lp, 9) * 10 * kLookahead), mix(lp), lp});
  }

  void run() {
    int turns = 0;
    while (gvt_ < setting_.end) {
      const bool moved = poll() | execute();
      if (!moved) way_.idle();
      way_.next_event(next());
      if (++turns < kGvtTurns) continue;
      turns = 0;
      compute_gvt();
    }
    if (burnt_ == 1) std::fprintf(stderr, "work cannot be left out\n");
  }
  std::uint64_t sum() const { return sum_; }
  std::uint64_t events() const { return events_; }

 private:
  bool poll() {
    way_.before_polling();
    return network_.poll([this](const Event& event) { pending_.push(event); });
  }
  std::int64_t next() const { return pending_.empty() ? kEver : pending_.top().time; }

  void compute_gvt() {
    std::int64_t lowest, balance;
    do {
      while (poll()) continue;
      lowest = next();
      balance = network_.balance();
      way_.reduce(lowest, balance);
    } while (balance != 0);
    gvt_ = lowest;
  }

  bool execute() {
    const std::int64_t bound = std::min(gvt_ + kLookahead, setting_.end);
    int executed = 0;
    for (; executed < kBatch && next() < bound; ++executed) {
      const Event event = pending_.top();
      pending_.pop();
      ++events_;
      sum_ += mix(event.number + static_cast<std::uint64_t>(event.time));
      for (unsigned i = 0; i < setting_.work; ++i) burnt_ = mix(burnt_ + i);
      send(event);
    }
    return executed > 0;
  }
  void send(const Event& cause) {
    const double delay = -std::log1p(-uniform(cause.number, 1)) * 9 * kLookahead;
    Event event{cause.time + kLookahead + static_cast<std::int64_t>(delay), mix(cause.number + 7),
                cause.lp};
    if (uniform(cause.number, 2) < setting_.remote)
      event.lp =
          static_cast<std::uint64_t>(uniform(cause.number, 3) * static_cast<double>(setting_.lps));
    const int to = static_cast<int>(event.lp % static_cast<std::uint64_t>(ranks_));
    if (to == rank_) return pending_.push(event);
    network_.send(event, to);
    way_.sent(to, event.time);
  }

  const Setting& setting_;
  const int rank_, ranks_;
  Way way_;
  Network network_;
  std::priority_queue<Event, std::vector<Event>, std::greater<Event>> pending_;
  std::int64_t gvt_ = 0;
  std::uint64_t sum_ = 0, events_ = 0, burnt_ = 0;
};

void print(double seconds, const std::array<std::uint64_t, 4>& all) {
  std::printf(
      "{\"seconds\": %.6f, \"events\": %llu, \"rate\": %.1f, \"fingerprint\": \"%016llx\", "
      "\"switches\": %llu, \"cpu_seconds\": %.3f}\n",
      seconds, static_cast<unsigned long long>(all[1]), static_cast<double>(all[1]) / seconds,
      static_cast<unsigned long long>(all[0]), static_cast<unsigned long long>(all[2]),
      static_cast<double>(all[3]) * 1e-6);
}

std::uint64_t microseconds(const timeval& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000 +
         static_cast<std::uint64_t>(time.tv_usec);
}

}  // namespace

int main(int count, char** words) {
  MPI_Init(&count, &words);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (count != 6) {
    if (rank == 0) std::fprintf(stderr, "mpi_phold WAY LPS END WORK REMOTE_PERCENT\n");
    MPI_Finalize();
    return 2;
  }
  const Setting setting{words[1], std::strtoull(words[2], nullptr, 10), std::atoll(words[3]),
                        static_cast<unsigned>(std::atoi(words[4])), std::atof(words[5]) / 100};
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  std::array<std::uint64_t, 4> mine{}, all{};
  {
    Rank simulator(setting, rank, ranks);
    simulator.run();
    mine[0] = simulator.sum();
    mine[1] = simulator.events();
  }
  const double seconds = MPI_Wtime() - begin;
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  mine[2] = static_cast<std::uint64_t>(usage.ru_nvcsw + usage.ru_nivcsw);
  mine[3] = microseconds(usage.ru_utime) + microseconds(usage.ru_stime);
  MPI_Reduce(mine.data(), all.data(), 4, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) print(seconds, all);
  MPI_Finalize();
  return 0;
}
