// SPDX-License-Identifier: Apache-2.0
//
// A model that snapshots cannot hold: what its LPs do depends on a global that they change, or it
// starts threads while it is prepared.
#include <thread>

#include "orrery/orrery.h"

namespace {

using orrery::Context;
using orrery::Duration;
using orrery::LpId;

struct Step {};

std::int64_t steps_of_all = 0;

class Stray final : public orrery::Model {
 public:
  orrery::Parameter<bool> threads{*this, "threads", false, {.help = "prepare() starts a thread"}};

  void prepare() override {
    if (threads) std::thread([] {}).join();
  }
  std::uint64_t lp_count() const override { return 2; }
  std::unique_ptr<orrery::LogicalProcessBase> create(LpId) const override;
};

class Walker final : public orrery::LogicalProcess<Walker, Step> {
 public:
  void start(Context& context) override { context.schedule(context.self(), kPause, Step{}); }
  void handle(Context& context, const Step&) {
    seen_ = ++steps_of_all;
    context.schedule(context.self(), kPause + Duration::milliseconds(seen_ % 7), Step{});
  }

 private:
  static constexpr Duration kPause = Duration::seconds(1);
  std::int64_t seen_ = 0;
};

std::unique_ptr<orrery::LogicalProcessBase> Stray::create(LpId) const {
  return std::make_unique<Walker>();
}

}  // namespace

ORRERY_MODEL(Stray, "stray", "keeps state outside of its LPs");
