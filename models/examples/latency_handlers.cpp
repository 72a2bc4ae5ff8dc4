// SPDX-License-Identifier: Apache-2.0
//
// The cable of SimPy's examples ("Event Latency", see latency_processes.cpp), with handlers.
#include "orrery/orrery.h"

namespace {

using namespace orrery;

constexpr Duration kCable = Duration::seconds(10);
struct Send {};
struct Message {
  Time sent;
};

class CableModel final : public Model {
 public:
  std::uint64_t lp_count() const override { return 2; }
  std::unique_ptr<LogicalProcessBase> create(LpId) const override;
  Duration lookahead() const override { return kCable; }

  const Metric latency{*this, "latency", "s", "from the sender to the receiver"};
};

class End final : public LogicalProcess<End, Send, Message> {
 public:
  explicit End(const CableModel& model) : model_(model) {}
  void start(Context& context) override {
    if (context.self() == 0) context.schedule(0, Duration::seconds(5), Send{});
  }
  void handle(Context& context, const Send&) {
    context.schedule(1, kCable, Message{context.now()});
    context.schedule(0, Duration::seconds(5), Send{});
  }
  void handle(Context& context, const Message& message) {
    context.record(model_.latency, (context.now() - message.sent).to_seconds());
  }

 private:
  const CableModel& model_;
};

std::unique_ptr<LogicalProcessBase> CableModel::create(LpId) const {
  return std::make_unique<End>(*this);
}

}  // namespace

ORRERY_MODEL(CableModel, "latency-handlers", "messages on a cable, with handlers");
