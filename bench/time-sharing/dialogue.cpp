// SPDX-License-Identifier: Apache-2.0
//
// Clients and servers beside long jobs: what to take the processor back from an event is for. The
// first half of the LPs are servers and an LP with jobs of 5 ms, the second half clients, so that
// with two workers one has all the jobs. Each client has one request on its way or answered, and
// events of its own; all these take 20 us. While the servers' worker has nothing to serve it goes
// on with the next job, ahead of time, and then a request of a client comes into its middle.
#include <cstdint>
#include <memory>

#include "common/busy_work.h"
#include "orrery/orrery.h"

namespace {

using orrery::Context;
using orrery::Duration;
using orrery::LpId;
using orrery::Parameter;
using orrery::models::busy_work;

struct Request {
  LpId client;
};
struct Reply {};
struct Tick {};
struct Job {};

class Dialogue final : public orrery::Model {
 public:
  Parameter<std::int64_t> clients{
      *this, "clients", 8, {.help = "LPs that ask", .minimum = 2, .maximum = 1 << 20}};
  Parameter<Duration> delay{*this,
                            "delay",
                            Duration::milliseconds(1),
                            {.help = "mean of a message, and between events of a client's own",
                             .minimum = Duration::nanoseconds(1)}};
  Parameter<Duration> job_interval{
      *this,
      "job_interval",
      Duration::milliseconds(50),
      {.help = "mean from one job to the next", .minimum = Duration::nanoseconds(1)}};
  Parameter<std::int64_t> work{*this,
                               "work",
                               20'000,
                               {.help = "of an event, in steps of about a nanosecond",
                                .minimum = 0,
                                .maximum = 1'000'000'000}};
  Parameter<std::int64_t> job_work{
      *this,
      "job_work",
      5'000'000,
      {.help = "the same, of a job", .minimum = 0, .maximum = 1'000'000'000}};

  std::uint64_t lp_count() const override { return 2 * first_client(); }
  std::unique_ptr<orrery::LogicalProcessBase> create(LpId id) const override;

  static constexpr LpId kJobs = 0, kFirstServer = 1;
  LpId first_client() const { return static_cast<LpId>(clients.value()); }
};

class Node final : public orrery::LogicalProcess<Node, Request, Reply, Tick, Job> {
 public:
  explicit Node(const Dialogue& model) : model_(model) {}
  void start(Context& context) override {
    if (context.self() == Dialogue::kJobs) begin_job(context);
    if (context.self() < model_.first_client()) return;
    ask(context);
    tick(context);
  }
  void handle(Context& context, const Request& request) {
    note(context, request.client, model_.work);
    context.schedule(request.client, context.random().exponential(model_.delay), Reply{});
  }
  void handle(Context& context, const Reply&) {
    note(context, 1, model_.work);
    ask(context);
  }
  void handle(Context& context, const Tick&) {
    note(context, 2, model_.work);
    tick(context);
  }
  void handle(Context& context, const Job&) {
    note(context, 3, model_.job_work);
    begin_job(context);
  }
  void finish(orrery::FinalContext& context) override { context.state(digest_); }

 private:
  void ask(Context& context) {
    const LpId servers = model_.first_client() - Dialogue::kFirstServer;
    const auto server = Dialogue::kFirstServer + static_cast<LpId>(context.random().below(servers));
    context.schedule(server, context.random().exponential(model_.delay), Request{context.self()});
  }
  void tick(Context& context) {
    context.schedule(context.self(), context.random().exponential(model_.delay), Tick{});
  }
  void begin_job(Context& context) {
    context.schedule(context.self(), context.random().exponential(model_.job_interval), Job{});
  }
  void note(Context& context, std::uint64_t what, std::int64_t work) {
    digest_ = (digest_ ^ what) * 31 + static_cast<std::uint64_t>(context.now().ticks());
    busy_work(digest_, work);
  }

  const Dialogue& model_;
  std::uint64_t digest_ = 1;
};

std::unique_ptr<orrery::LogicalProcessBase> Dialogue::create(LpId) const {
  return std::make_unique<Node>(*this);
}

ORRERY_MODEL(Dialogue, "dialogue", "clients and servers beside long jobs");

}  // namespace
