// SPDX-License-Identifier: Apache-2.0
//
// Schedules of simmer (see shifts_processes.cpp), with handlers.
#include "orrery/orrery.h"

namespace {

using namespace orrery;

struct Change {};
struct End {
  std::uint64_t service;
};

class ShiftModel final : public Model {
 public:
  std::uint64_t lp_count() const override { return 3; }
  std::unique_ptr<LogicalProcessBase> create(LpId) const override;

  const Table ends{*this,
                   "ends",
                   {{"job", ColumnType::integer}, {"lost", ColumnType::integer, "s"}},
                   "jobs that have ended"};
};

constexpr Duration s(std::int64_t seconds) {
  return Duration::seconds(seconds);
}

class Shop final : public LogicalProcess<Shop, Change, End> {
 public:
  Shop(const ShiftModel& model, LpId id)
      : model_(model),
        shifts_(id == 0 ? Shifts(s(100), {{s(0), 0}, {s(5), 1}, {s(10), 0}, {s(15), 1}})
                        : Shifts(s(100), {{s(0), 1}, {s(1), 3}, {s(2), 1}})) {}
  void start(Context& context) override {
    handle(context, Change{});
    const Duration lasts = context.self() == 0 ? s(5) : s(2);
    for (int i = 0; i < 3; ++i)
      servers_.request(context, i, lasts, {.preempted = Preempted::restarts});
    schedule_ends(context);
  }
  void handle(Context& context, const Change&) {
    const Removal removal = context.self() == 1 ? Removal::lets_finish : Removal::preempts;
    servers_.set_capacity(context, shifts_.servers_at(context.now()), removal);
    schedule_ends(context);
    context.schedule(context.self(), shifts_.until_change(context.now()), Change{});
  }
  void handle(Context& context, const End& end) {
    if (const auto done = servers_.complete(context, end.service))
      context.emit(model_.ends, done->customer, done->lost / s(1));
    schedule_ends(context);
  }

 private:
  void schedule_ends(Context& context) {
    while (const auto begun = servers_.take_begun())
      context.schedule(context.self(), begun->left, End{begun->service});
  }

  const ShiftModel& model_;
  Shifts shifts_;
  PreemptiveResource<int> servers_{0};
};

std::unique_ptr<LogicalProcessBase> ShiftModel::create(LpId id) const {
  return std::make_unique<Shop>(*this, id);
}

}  // namespace
ORRERY_MODEL(ShiftModel, "shifts-handlers", "servers that follow shifts, with handlers");
