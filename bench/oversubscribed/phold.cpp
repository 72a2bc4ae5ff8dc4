// SPDX-License-Identifier: Apache-2.0
//
// A small conservative simulator of processes that share a machine, to see what it costs that there
// are more of them than cores. PHOLD (Fujimoto 1990) in ranks that are processes: rings in shared
// memory for messages, a board of clocks for promises (Chandy, Misra, Bryant), and a loop that
// polls both, as the loops of simulators over MPI do. What a rank does that finds nothing to
// execute is what is compared:
//   spin    it polls on
//   yield   it calls sched_yield() first
//   llf     it waits (orrery/llf.h), and gives way at safe points to who is earlier
// Prints JSON. The sum over all events is the same for all ways and numbers of ranks.
//
//   oversubscribed_phold WAY RANKS LPS END WORK REMOTE_PERCENT
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <queue>
#include <string>
#include <vector>

#include "orrery/llf.h"

namespace {

constexpr std::int64_t kLookahead = 100;  // ticks; the mean delay is ten times as long
constexpr std::int64_t kEver = std::numeric_limits<std::int64_t>::max() / 2;

struct Event {
  std::int64_t time;
  std::uint64_t number;  ///< its random numbers are made of it
  std::uint32_t lp;
  bool operator>(const Event& other) const {
    return time != other.time ? time > other.time : number > other.number;
  }
};

struct Setting {
  std::string way;
  unsigned ranks, lps;
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

/// One rank to another. Events are neither made nor destroyed, so a ring for all of them is never
/// full.
struct Ring {
  alignas(64) std::atomic<std::uint64_t> tail{0};
  alignas(64) std::uint64_t head = 0;
};
struct alignas(64) Board {
  std::atomic<std::int64_t> clock{0};  ///< it will execute nothing before this
  std::uint64_t sum = 0, events = 0;   ///< written at the end
};

/// What the ranks share, made before they are.
class World {
 public:
  explicit World(const Setting& setting) : setting_(setting) {
    const std::size_t pairs = std::size_t{setting.ranks} * setting.ranks;
    boards_ = map<Board>(setting.ranks);
    rings_ = map<Ring>(pairs);
    events_ = map<Event>(pairs * setting.lps);
    started_ = map<std::atomic<unsigned>>(1);
  }
  const Setting& setting() const { return setting_; }
  Board& board(unsigned rank) const { return boards_[rank]; }
  void push(unsigned from, unsigned to, const Event& event) const {
    Ring& ring = this->ring(from, to);
    const std::uint64_t tail = ring.tail.load(std::memory_order_relaxed);  // only we write it
    place(from, to, tail) = event;
    ring.tail.store(tail + 1, std::memory_order_release);  // with the event
  }
  template <class Visit>
  bool drain(unsigned from, unsigned to, Visit&& visit) const {
    Ring& ring = this->ring(from, to);
    const std::uint64_t tail = ring.tail.load(std::memory_order_acquire);  // with the events
    if (ring.head == tail) return false;
    for (; ring.head != tail; ++ring.head) visit(place(from, to, ring.head));
    return true;
  }
  /// All begin together; a group of llf meets instead, without tokens.
  void start() const {
    started_->fetch_add(1, std::memory_order_relaxed);
    while (started_->load(std::memory_order_relaxed) < setting_.ranks) sched_yield();
  }

 private:
  template <class T>
  static T* map(std::size_t count) {
    void* memory =
        mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) std::abort();
    for (std::size_t i = 0; i < count; ++i) new (static_cast<T*>(memory) + i) T();
    return static_cast<T*>(memory);
  }
  Ring& ring(unsigned from, unsigned to) const { return rings_[from * setting_.ranks + to]; }
  Event& place(unsigned from, unsigned to, std::uint64_t at) const {
    const std::size_t pair = std::size_t{from} * setting_.ranks + to;
    return events_[pair * setting_.lps + at % setting_.lps];
  }

  const Setting setting_;
  Board* boards_;
  Ring* rings_;
  Event* events_;
  std::atomic<unsigned>* started_;
};

/// What a rank does where it has nothing to do, and what it tells the others.
class Way {
 public:
  Way(const World& world, unsigned rank) : name_(world.setting().way), rank_(rank) {
    if (name_ == "llf")
      join(world.setting().ranks);
    else
      world.start();
  }
  Way(const Way&) = delete;
  Way& operator=(const Way&) = delete;
  ~Way() { llf_leave(federate_); }

  void before_polling() {
    if (federate_ != nullptr) llf_messages_read(federate_);
  }
  /// The clock has moved on, or there are messages.
  void tell(std::int64_t clock) {
    if (federate_ == nullptr) return;
    const llf_time time = std::min<llf_time>(clock, LLF_NEVER - 1);
    if (llf_lvt(federate_, time) < 0) fail();
    for (unsigned i = 0; i < peers_.size(); ++i)
      if (i != rank_) llf_message_to(federate_, peers_[i], time);
    if (llf_safe_point(federate_) < 0) fail();
  }
  void idle() {
    if (name_ == "yield") sched_yield();
    if (federate_ != nullptr && llf_wait(federate_, -1) < 0) fail();
  }

 private:
  void join(unsigned ranks) {
    const std::string group = "phold." + std::to_string(getppid());
    federate_ = llf_join(group.c_str(), std::to_string(rank_).c_str(), nullptr);
    if (federate_ == nullptr || llf_meet(federate_, ranks, -1) != 0) fail();
    for (unsigned i = 0; i < ranks; ++i)
      peers_.push_back(llf_find(federate_, std::to_string(i).c_str()));
  }
  static void fail() {
    std::fprintf(stderr, "oversubscribed_phold: %s\n", llf_error());
    _exit(1);
  }
  const std::string name_;
  const unsigned rank_;
  llf* federate_ = nullptr;
  std::vector<int> peers_;
};

class Rank {
 public:
  Rank(const World& world, unsigned rank) : world_(world), setting_(world.setting()), rank_(rank) {
    for (std::uint32_t lp = rank; lp < setting_.lps; lp += setting_.ranks)
      pending_.push({static_cast<std::int64_t>(uniform(lp, 9) * 10 * kLookahead), mix(lp), lp});
  }

  void run() {
    Way way(world_, rank_);
    std::int64_t clock = 0;
    while (clock < setting_.end) {
      way.before_polling();
      const std::int64_t safe = poll();
      const bool sent = execute_before(std::min(safe, setting_.end));
      const std::int64_t now = std::min(pending_.empty() ? kEver : pending_.top().time, safe);
      if (now == clock && !sent) {
        way.idle();
        continue;
      }
      clock = now;
      // With what was sent before it: who reads it finds that in its rings.
      world_.board(rank_).clock.store(clock >= setting_.end ? kEver : clock,
                                      std::memory_order_release);
      way.tell(clock);
    }
    if (burnt_ == 1) std::fprintf(stderr, "work cannot be left out\n");
    world_.board(rank_).sum = sum_;
    world_.board(rank_).events = events_;
  }

 private:
  /// Before which time nothing can come any more, once the rings have been emptied.
  std::int64_t poll() {
    std::int64_t lowest = kEver;
    for (unsigned i = 0; i < setting_.ranks; ++i)
      if (i != rank_)
        lowest = std::min(lowest, world_.board(i).clock.load(std::memory_order_acquire));
    for (unsigned i = 0; i < setting_.ranks; ++i)
      if (i != rank_) world_.drain(i, rank_, [this](const Event& event) { pending_.push(event); });
    return lowest + kLookahead;
  }

  bool execute_before(std::int64_t bound) {
    bool sent = false;
    while (!pending_.empty() && pending_.top().time < bound) {
      const Event event = pending_.top();
      pending_.pop();
      ++events_;
      sum_ += mix(event.number + static_cast<std::uint64_t>(event.time));
      for (unsigned i = 0; i < setting_.work; ++i) burnt_ = mix(burnt_ + i);
      sent |= send(event);
    }
    return sent;
  }
  bool send(const Event& cause) {
    const double delay = -std::log1p(-uniform(cause.number, 1)) * 9 * kLookahead;
    Event event{cause.time + kLookahead + static_cast<std::int64_t>(delay), mix(cause.number + 7),
                cause.lp};
    if (uniform(cause.number, 2) < setting_.remote)
      event.lp = static_cast<std::uint32_t>(uniform(cause.number, 3) * setting_.lps);
    const unsigned to = event.lp % setting_.ranks;
    if (to == rank_) return pending_.push(event), false;
    world_.push(rank_, to, event);
    return true;
  }

  const World& world_;
  const Setting& setting_;
  const unsigned rank_;
  std::priority_queue<Event, std::vector<Event>, std::greater<Event>> pending_;
  std::uint64_t sum_ = 0, events_ = 0, burnt_ = 0;
};

double seconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

}  // namespace

int main(int count, char** words) {
  if (count != 7) {
    std::fprintf(stderr, "oversubscribed_phold WAY RANKS LPS END WORK REMOTE_PERCENT\n");
    return 2;
  }
  const World world({words[1], static_cast<unsigned>(std::atoi(words[2])),
                     static_cast<unsigned>(std::atoi(words[3])), std::atoll(words[4]),
                     static_cast<unsigned>(std::atoi(words[5])), std::atof(words[6]) / 100});
  const double begin = seconds();
  for (unsigned rank = 0; rank < world.setting().ranks; ++rank) {
    if (fork() != 0) continue;
    Rank(world, rank).run();
    _exit(0);
  }
  for (unsigned rank = 0; rank < world.setting().ranks; ++rank) {
    int status;
    wait(&status);
    if (status != 0) return 1;
  }
  const double taken = seconds() - begin;
  rusage usage;
  getrusage(RUSAGE_CHILDREN, &usage);
  std::uint64_t sum = 0, events = 0;
  for (unsigned rank = 0; rank < world.setting().ranks; ++rank) {
    sum += world.board(rank).sum;
    events += world.board(rank).events;
  }
  std::printf(
      "{\"seconds\": %.6f, \"events\": %llu, \"rate\": %.1f, \"fingerprint\": \"%016llx\", "
      "\"switches\": %ld, \"cpu_seconds\": %.3f}\n",
      taken, static_cast<unsigned long long>(events), static_cast<double>(events) / taken,
      static_cast<unsigned long long>(sum), usage.ru_nvcsw + usage.ru_nivcsw,
      static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
          static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6);
  return 0;
}
