// SPDX-License-Identifier: Apache-2.0
//
// How long an event waits that comes to a worker in the middle of a long one: from its
// schedule(), the last thing that a handler does, to the start of its own handler, with Time Warp
// on two workers. And, to compare with, how long a signal takes from thread to thread. Prints JSON;
// times are in microseconds.
//
//   time_sharing_response ROUNDS LONG_US POLL_EVERY_US   (0: the long handler does not poll)
#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include "core/cycles.h"
#include "engine/timewarp/settings.h"
#include "orrery/orrery.h"
#include "run/engine.h"

namespace {

using orrery::Context;
using orrery::Duration;
using orrery::LpId;

struct Long {
  std::uint64_t round;
};
struct Send {
  std::uint64_t round;
};
struct Urgent {
  std::uint64_t round;
};

double microseconds(std::uint64_t cycles) {
  return orrery::seconds_of(cycles) * 1e6;
}

/// What the handlers tell each other about the time on the wall, which is none of the simulation's.
struct Wall {
  std::atomic<std::uint64_t> in_long{0}, sent{0};
  std::vector<double> waited;
};
Wall wall;

struct Shape {
  std::uint64_t rounds;
  double long_us, poll_every_us;
};

/// LPs 0 and 1 are one worker's, 2 and 3 the other's.
class ResponseLp final : public orrery::LogicalProcess<ResponseLp, Long, Send, Urgent> {
 public:
  explicit ResponseLp(const Shape& shape) : shape_(shape) {}
  void start(Context& context) override {
    if (context.self() == 1) begin(context, 1);
  }
  void handle(Context&, const Long& event) {
    wall.in_long.store(event.round);
    const std::uint64_t start = orrery::read_cycles();
    for (std::uint64_t now = start, polled = start; microseconds(now - start) < shape_.long_us;
         now = orrery::read_cycles()) {
      if (shape_.poll_every_us == 0 || microseconds(now - polled) < shape_.poll_every_us) continue;
      orrery::poll();
      polled = now;
    }
  }
  void handle(Context& context, const Send& event) {
    // Not for ever: the other worker may not get there.
    const std::uint64_t start = orrery::read_cycles();
    while (wall.in_long.load() != event.round &&
           microseconds(orrery::read_cycles() - start) < 100000) {
    }
    const std::uint64_t there = orrery::read_cycles();
    while (microseconds(orrery::read_cycles() - there) < shape_.long_us / 5) {
    }
    wall.sent.store(orrery::read_cycles());
    context.schedule(1, Duration::from_ticks(100), Urgent{event.round});
  }
  void handle(Context& context, const Urgent& event) {
    wall.waited.push_back(microseconds(orrery::read_cycles() - wall.sent.load()));
    if (event.round < shape_.rounds) begin(context, event.round + 1);
  }

 private:
  static void begin(Context& context, std::uint64_t round) {
    context.schedule(0, Duration::from_ticks(500), Long{round});
    context.schedule(2, Duration::from_ticks(1), Send{round});
  }
  const Shape shape_;
};

class ResponseModel final : public orrery::Model {
 public:
  explicit ResponseModel(const Shape& shape) : shape_(shape) {}
  std::uint64_t lp_count() const override { return 4; }
  std::unique_ptr<orrery::LogicalProcessBase> create(LpId) const override {
    return std::make_unique<ResponseLp>(shape_);
  }

 private:
  const Shape shape_;
};

double quantile(std::vector<double>& values, double share) {
  std::sort(values.begin(), values.end());
  const auto at = static_cast<std::size_t>(share * static_cast<double>(values.size()));
  return values.empty() ? 0 : values[std::min(at, values.size() - 1)];
}

std::atomic<std::uint64_t> arrived{0};
void on_signal(int) {
  arrived.store(orrery::read_cycles());
}

/// From the call of pthread_kill to the handler on another thread, which computes.
std::vector<double> signal_times(int rounds) {
  signal(SIGUSR1, on_signal);
  std::atomic<bool> over{false};
  std::jthread target([&over] {
    while (!over.load(std::memory_order_relaxed)) {
    }
  });
  std::vector<double> times;
  for (int i = 0; i < rounds; ++i) {
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    arrived.store(0);
    const std::uint64_t start = orrery::read_cycles();
    pthread_kill(target.native_handle(), SIGUSR1);
    std::uint64_t at = 0;
    while ((at = arrived.load()) == 0) {
    }
    times.push_back(microseconds(at - start));
  }
  over = true;
  return times;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: %s ROUNDS LONG_US POLL_EVERY_US\n", argv[0]);
    return 2;
  }
  const Shape shape{std::strtoull(argv[1], nullptr, 10), std::strtod(argv[2], nullptr),
                    std::strtod(argv[3], nullptr)};
  std::vector<double> kicks = signal_times(static_cast<int>(shape.rounds));
  wall.waited.reserve(4 * shape.rounds);  // handlers must not allocate what outlives them
  const ResponseModel model(shape);
  orrery::RunOptions options;
  options.until = orrery::Time::max();
  options.workers = 2;
  options.set(orrery::timewarp::kWindow, 1'000'000);
  orrery::RunControl control;
  const auto result = orrery::find_engine("timewarp").make()->run(model, options, control);
  if (result.end != orrery::RunEnd::completed) {
    std::fprintf(stderr, "the run failed: %s\n", result.fault.c_str());
    return 1;
  }
  std::printf(
      "{\"signal_p50\": %.2f, \"signal_p99\": %.2f, \"p50\": %.2f, \"p90\": %.2f, \"p99\": %.2f, "
      "\"rounds\": %zu}\n",
      quantile(kicks, 0.5), quantile(kicks, 0.99), quantile(wall.waited, 0.5),
      quantile(wall.waited, 0.9), quantile(wall.waited, 0.99), wall.waited.size());
  return 0;
}
