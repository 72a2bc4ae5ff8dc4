// SPDX-License-Identifier: Apache-2.0
//
// PHOLD, the synthetic workload for comparing PDES engines (Fujimoto, "Performance of Time Warp
// under synthetic workloads", 1990): every event schedules one new event after a random delay, at a
// random LP or at its own. Additions: state of a chosen size, of which each event writes a part; a
// busy loop of chosen length; a share of the LPs that receives more events.
#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "../common/busy_work.h"
#include "orrery/orrery.h"

namespace {

using orrery::Context;
using orrery::Duration;
using orrery::LpId;
using orrery::Parameter;

struct Ball {};
template <int Bytes>
struct Loaded {
  std::uint64_t words[Bytes / 8];
};

/// Odd, so that multiplication modulo 2^64 has an inverse, which the reverse handler needs.
constexpr std::uint64_t kFactor = 31;
constexpr std::uint64_t kInverse = 0xef7bdef7bdef7bdf;
static_assert(kFactor * kInverse == 1);

class Phold;

class Node final
    : public orrery::LogicalProcess<Node, Ball, Loaded<8>, Loaded<64>, Loaded<256>, Loaded<1024>> {
 public:
  Node(const Phold& model);
  void start(Context& context) override;
  void finish(orrery::FinalContext& context) override;

  template <class Payload>
  void handle(Context& context, const Payload& payload);
  template <class Payload>
  void reverse(orrery::ReverseContext& context, const Payload& payload);

 private:
  void throw_ball(Context& context);
  template <class Payload>
  static std::uint64_t value_of(orrery::Time now, const Payload& payload);
  template <class Change>
  void for_each_touched(Change&& change);

  const Phold& model_;
  std::uint64_t handled_ = 0;
  std::vector<std::uint64_t> state_;
};

class Phold final : public orrery::Model {
 public:
  Parameter<std::int64_t> lps{
      *this, "lps", 8192, {.help = "logical processes", .minimum = 1, .maximum = 1 << 26}};
  Parameter<std::int64_t> population{
      *this,
      "population",
      1,
      {.help = "start events at each LP", .minimum = 0, .maximum = 1 << 20}};
  Parameter<double> remote{
      *this,
      "remote",
      0.25,
      {.help = "share of events sent to a random LP; the rest go to the sender",
       .minimum = 0.0,
       .maximum = 1.0,
       .read_at_use = true}};
  Parameter<Duration> mean{*this,
                           "mean",
                           Duration::seconds(1),
                           {.help = "mean of the exponential part of the delay",
                            .minimum = Duration::zero(),
                            .read_at_use = true}};
  Parameter<Duration> lookahead_time{
      *this,
      "lookahead",
      Duration::zero(),
      {.help = "constant part of the delay", .minimum = Duration::zero()}};
  Parameter<std::int64_t> payload{
      *this,
      "payload",
      0,
      {.help = "bytes an event carries", .unit = "B", .choices = {0, 8, 64, 256, 1024}}};
  Parameter<std::int64_t> state{
      *this,
      "state",
      0,
      {.help = "dynamic memory of each LP", .unit = "B", .minimum = 0, .maximum = 1 << 30}};
  Parameter<std::int64_t> touched{*this,
                                  "touched",
                                  0,
                                  {.help = "bytes of it that each event writes",
                                   .unit = "B",
                                   .minimum = 0,
                                   .maximum = 1 << 30}};
  Parameter<std::int64_t> work{*this,
                               "work",
                               0,
                               {.help = "busy loop in each event, in steps of about a nanosecond",
                                .minimum = 0,
                                .maximum = 1'000'000'000}};
  Parameter<double> hot_share{
      *this,
      "hot_share",
      0.0,
      {.help = "share of remote events that go to the hot spot", .minimum = 0.0, .maximum = 1.0}};
  Parameter<double> hot_lps{
      *this,
      "hot_lps",
      0.1,
      {.help = "share of the LPs that make up the hot spot", .minimum = 0.0, .maximum = 1.0}};

  Parameter<double> heavy{*this,
                          "heavy",
                          0.0,
                          {.help = "share of the LPs, the first ones, whose events cost more",
                           .minimum = 0.0,
                           .maximum = 1.0}};
  Parameter<double> heavy_factor{
      *this,
      "heavy_factor",
      10.0,
      {.help = "times `work` that these do", .minimum = 0.0, .maximum = 1'000'000.0}};

  Parameter<std::int64_t> confined{
      *this,
      "confined",
      0,
      {.help = "LPs, the first ones, that must not roll back", .minimum = 0, .maximum = 1 << 26}};
  Parameter<std::int64_t> committed{
      *this,
      "committed",
      0,
      {.help = "LPs, the next ones, whose events wait until nothing before them can fail",
       .minimum = 0,
       .maximum = 1 << 26}};

  void prepare() override {
    if (touched > state) {
      throw orrery::UsageError("touched=" + touched.value_text() + " is more than state=" +
                               state.value_text() + "; an event cannot write more than there is");
    }
    if (mean.value() == Duration::zero() && lookahead_time.value() == Duration::zero())
      throw orrery::UsageError("mean and lookahead are both 0: time would stand still");
    if (heavy > 0 && work == 0)
      throw orrery::UsageError("heavy=" + heavy.value_text() +
                               " means nothing with work=0: there is no work to multiply");
    const auto heavy_lps = heavy * static_cast<double>(lps.value());
    heavy_count_ = static_cast<std::uint64_t>(std::ceil(heavy_lps));
    heavy_work_ = static_cast<std::int64_t>(heavy_factor * static_cast<double>(work.value()));
    const auto hot = static_cast<std::uint64_t>(hot_lps * static_cast<double>(lps.value()));
    hot_count_ = hot == 0 ? 1 : hot;
  }
  std::uint64_t lp_count() const override { return static_cast<std::uint64_t>(lps.value()); }
  std::unique_ptr<orrery::LogicalProcessBase> create(LpId) const override {
    return std::make_unique<Node>(*this);
  }
  Duration lookahead() const override { return lookahead_time; }
  orrery::LpExecution execution_of(LpId id) const override {
    const auto number = static_cast<std::int64_t>(id);
    return number < confined               ? orrery::LpExecution::confined
           : number < confined + committed ? orrery::LpExecution::committed
                                           : orrery::LpExecution::speculative;
  }
  std::uint64_t hot_count() const { return hot_count_; }
  /// Steps of the busy loop in an event of LP `id`.
  std::int64_t work_of(LpId id) const { return id < heavy_count_ ? heavy_work_ : work.value(); }

 private:
  std::uint64_t heavy_count_ = 0;
  std::int64_t heavy_work_ = 0;
  std::uint64_t hot_count_ = 1;
};

Node::Node(const Phold& model) : model_(model) {
  if (model.state > 0) state_.resize((static_cast<std::size_t>(model.state) + 7) / 8);
}

void Node::start(Context& context) {
  for (std::int64_t i = 0; i < model_.population; ++i) throw_ball(context);
}

void Node::finish(orrery::FinalContext& context) {
  context.state(handled_);
  for (const std::uint64_t word : state_) context.state(word);
}

template <class Payload>
void Node::handle(Context& context, const Payload& payload) {
  ++handled_;
  if (model_.touched > 0) {
    const std::uint64_t value = value_of(context.now(), payload);
    for_each_touched([value](std::uint64_t& word) { word = word * kFactor + value; });
  }
  orrery::models::busy_work(handled_, model_.work_of(context.self()));
  throw_ball(context);
}

template <class Payload>
void Node::reverse(orrery::ReverseContext& context, const Payload& payload) {
  if (model_.touched > 0) {
    const std::uint64_t value = value_of(context.now(), payload);
    for_each_touched([value](std::uint64_t& word) { word = (word - value) * kInverse; });
  }
  --handled_;
}

/// The value that a handler mixes into the words that it writes.
template <class Payload>
std::uint64_t Node::value_of(orrery::Time now, const Payload& payload) {
  auto value = static_cast<std::uint64_t>(now.ticks());
  if constexpr (!std::is_empty_v<Payload>) value += payload.words[0];
  return value;
}

void Node::throw_ball(Context& context) {
  auto& random = context.random();
  LpId destination = context.self();
  if (random.uniform() < model_.remote) {
    const bool hot = model_.hot_share > 0 && random.bernoulli(model_.hot_share);
    destination = static_cast<LpId>(random.below(hot ? model_.hot_count() : context.lp_count()));
  }
  const Duration delay = model_.lookahead_time + random.exponential(model_.mean);
  const auto send = [&]<class Payload>(Payload payload) {
    payload.words[0] = handled_;
    context.schedule(destination, delay, payload);
  };
  switch (model_.payload) {
    case 8:
      return send(Loaded<8>{});
    case 64:
      return send(Loaded<64>{});
    case 256:
      return send(Loaded<256>{});
    case 1024:
      return send(Loaded<1024>{});
    default:
      context.schedule(destination, delay, Ball{});
  }
}

/// Changes `touched` bytes of the state; the start moves on with each event.
template <class Change>
void Node::for_each_touched(Change&& change) {
  const std::size_t words = (static_cast<std::size_t>(model_.touched) + 7) / 8;
  std::size_t at = handled_ * words % state_.size();
  for (std::size_t i = 0; i < words; ++i) {
    change(state_[at]);
    if (++at == state_.size()) at = 0;
  }
}

ORRERY_MODEL(Phold, "phold", "PHOLD, the synthetic benchmark: every event schedules one more");

}  // namespace
