// SPDX-License-Identifier: Apache-2.0
//
// The cable of SimPy's examples ("Event Latency"): a sender gives a message to a cable every 5 s, and
// it comes out 10 s later. Here the cable is a send with a delay from one LP to the other. The same
// with handlers: latency_handlers.cpp.
#include "orrery/orrery.h"
#include "orrery/process.h"

namespace {

using namespace orrery;

constexpr Duration kCable = Duration::seconds(10);
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

class End final : public ProcessLp<End, Message> {
 public:
  explicit End(const CableModel& model) : model_(model) {}
  void begin() override { spawn(self() == 0 ? sender() : receiver()); }
  void handle(const Message& message) { inbox_.put(message); }

 private:
  Process sender() {
    for (;;) {
      co_await delay(Duration::seconds(5));
      schedule(1, kCable, Message{now()});
    }
  }
  Process receiver() {
    for (;;) {
      const Message message = co_await inbox_.receive();
      record(model_.latency, (now() - message.sent).to_seconds());
    }
  }

  const CableModel& model_;
  Mailbox<Message> inbox_;
};

std::unique_ptr<LogicalProcessBase> CableModel::create(LpId) const {
  return std::make_unique<End>(*this);
}

}  // namespace

ORRERY_MODEL(CableModel, "latency-processes", "messages on a cable, as processes");
