// SPDX-License-Identifier: Apache-2.0
//
// LPs with reverse handlers: memory that an event allocates, values that it remembers, and events
// of two types, all undone by hand where the run chooses so.
#include <array>

#include "orrery/orrery.h"

namespace orrery::fuzz {
namespace {

struct Put {
  std::uint64_t value;
};
struct Turn {
  std::uint32_t steps, padding;
};

class Reversible final : public Model {
 public:
  Parameter<std::int64_t> lps{*this, "lps", 16, {.help = "LPs", .minimum = 1, .maximum = 65536}};
  Parameter<std::int64_t> spread{
      *this, "spread", 10, {.help = "delays are at most this many ticks", .minimum = 1}};
  Parameter<std::int64_t> fault_at{
      *this, "fault_at", 0, {.help = "the last LP fails at this event (0: never)", .minimum = 0}};
  const Metric values{*this, "values", "1", "values, scaled", Keep::histogram};
  const Metric latest{*this, "latest", "1", "the same, as it stands", Keep::level};
  const Table turns{*this, "turns", {{"digest", ColumnType::integer}}, "some events"};

  std::uint64_t lp_count() const override { return static_cast<std::uint64_t>(lps.value()); }
  std::unique_ptr<LogicalProcessBase> create(LpId) const override;
  Time default_horizon() const override { return Time::from_ticks(1'000); }
};

class ReversibleLp final : public LogicalProcess<ReversibleLp, Put, Turn> {
 public:
  explicit ReversibleLp(const Reversible& model) : model_(model) {}
  void start(Context& context) override { send(context, context.self()); }

  void handle(Context& context, const Put& put) {
    count(context);
    auto& slot = slots_[put.value % slots_.size()];
    context.remember(slot);
    context.remember(digest_);
    slot += put.value;
    digest_ = digest_ * 31 + slot;
    // Memory that an event allocates, its reverse frees; none is ever freed by an event.
    if (put.value % 8 == 0) newest_ = new Node{put.value, newest_};
    context.record(model_.values, static_cast<double>(slot % 1000) * 0.1);
    context.level(model_.latest, static_cast<double>(slot % 1000) * 0.1);
    send(context, digest_);
  }
  void reverse(ReverseContext& context, const Put& put) {
    if (put.value % 8 == 0) {
      const Node* const node = newest_;
      newest_ = node->before;
      delete node;
    }
    digest_ = context.recall<std::uint64_t>();
    slots_[put.value % slots_.size()] = context.recall<std::uint64_t>();
    --events_;
  }

  void handle(Context& context, const Turn& turn) {
    count(context);
    for (std::uint32_t i = 0; i < turn.steps; ++i) rotate();
    if (turn.steps == 2) context.emit(model_.turns, digest_);
    send(context, slots_[0] + events_);
  }
  void reverse(ReverseContext&, const Turn& turn) {
    for (std::uint32_t i = 0; i < turn.steps * (slots_.size() - 1); ++i) rotate();
    --events_;
  }

  void finish(FinalContext& context) override {
    context.state(events_);
    context.state(digest_);
    for (const std::uint64_t slot : slots_) context.state(slot);
    for (const Node* node = newest_; node != nullptr; node = node->before)
      context.state(node->value);
  }
  ~ReversibleLp() override {
    while (newest_ != nullptr) delete std::exchange(newest_, newest_->before);
  }

 private:
  struct Node {
    std::uint64_t value;
    Node* before;
  };

  void count(Context& context) {
    if (static_cast<std::int64_t>(events_ + 1) == model_.fault_at &&
        context.self() == context.lp_count() - 1)
      context.fail("told to fail");
    ++events_;
  }
  void rotate() {
    const std::uint64_t first = slots_[0];
    for (std::size_t i = 0; i + 1 < slots_.size(); ++i) slots_[i] = slots_[i + 1];
    slots_.back() = first;
  }
  void send(Context& context, std::uint64_t value) {
    Random& random = context.random();
    const auto to = static_cast<LpId>(random.below(context.lp_count()));
    const auto most = static_cast<std::uint64_t>(model_.spread.value());
    const auto delay = Duration::from_ticks(static_cast<std::int64_t>(random.below(most)) + 1);
    if (random.below(3) == 0)
      context.schedule(to, delay, Turn{static_cast<std::uint32_t>(value % 4), 0});
    else
      context.schedule(to, delay, Put{value});
  }

  const Reversible& model_;
  std::uint64_t events_ = 0, digest_ = 1;
  std::array<std::uint64_t, 24> slots_{};
  Node* newest_ = nullptr;
};

std::unique_ptr<LogicalProcessBase> Reversible::create(LpId) const {
  return std::make_unique<ReversibleLp>(*this);
}

ORRERY_MODEL(Reversible, "reversible", "LPs with reverse handlers");

}  // namespace
}  // namespace orrery::fuzz
