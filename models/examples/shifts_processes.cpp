// SPDX-License-Identifier: Apache-2.0
//
// Schedules of simmer: jobs that are there at time 0, and servers whose number changes. LP 0 has one
// server from 5 to 10 and from 15 on, and jobs of 5; LPs 1 and 2 have one server, three from 1 to 2,
// and jobs of 2. A change interrupts jobs at LPs 0 and 2, where they begin anew. The same with
// handlers: shifts_handlers.cpp.
#include "orrery/orrery.h"
#include "orrery/process.h"

namespace {

using namespace orrery;

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

class Shop final : public ProcessLp<Shop> {
 public:
  explicit Shop(const ShiftModel& model) : model_(model) {}
  void begin() override {
    const Shifts shifts = self() == 0
                              ? Shifts(s(100), {{s(0), 0}, {s(5), 1}, {s(10), 0}, {s(15), 1}})
                              : Shifts(s(100), {{s(0), 1}, {s(1), 3}, {s(2), 1}});
    spawn(servers_.follow(shifts, self() == 1 ? Removal::lets_finish : Removal::preempts));
    for (int i = 0; i < 3; ++i) spawn(job(i, self() == 0 ? s(5) : s(2)));
  }

 private:
  Process job(int number, Duration lasts) {
    const Work work = co_await servers_.work(lasts, {.preempted = Preempted::restarts});
    emit(model_.ends, number, work.lost / s(1));
  }

  const ShiftModel& model_;
  PreemptiveServers servers_{*this, 0};
};

std::unique_ptr<LogicalProcessBase> ShiftModel::create(LpId) const {
  return std::make_unique<Shop>(*this);
}

}  // namespace

ORRERY_MODEL(ShiftModel, "shifts-processes", "servers that follow shifts, as processes");
