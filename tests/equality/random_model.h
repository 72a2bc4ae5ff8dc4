// SPDX-License-Identifier: Apache-2.0
//
// A seeded random model that does what models should not be forbidden to do: ties and zero delays,
// state in a graph of containers that grows and shrinks, memory freed by other events than those
// that allocated it, rows and metrics, events of several types and sizes, and handlers that fail if
// they see events that never commit. If one engine loses, doubles or reorders anything, or if a
// rollback restores one byte wrong, the fingerprints differ.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "equality/any_phase.h"
#include "equality/witness.h"
#include "orrery/orrery.h"

namespace orrery::testing {

struct RandomModelOptions {
  std::uint64_t shape = 1;  ///< seed of the model itself
  LpId lps = 64;
  std::int64_t grain_ticks = 10;  ///< delays are multiples of it: ties are common
  Duration horizon = Duration::from_ticks(20'000);
  bool rows = true;
  std::int64_t fault_at_event = -1;  ///< an LP fails at its n-th event; -1: never
  int extra_work = 0;                ///< steps of a busy loop in each event
  bool durations = false;            ///< some events are expanded
  bool phases = false;               ///< some sends name a phase
};

// Event types. `Walk` keeps the population constant: each sends exactly one Walk.
struct Walk {
  std::uint64_t value;
};
struct Echo {
  std::uint32_t depth, value;
};
struct Parcel {
  std::uint64_t words[12];
};
struct Wake {};
// `Open` always precedes the `Use` that somebody else sends on demand of the opener.
struct Open {
  std::uint64_t token;
};
struct Delegate {
  std::uint64_t token;
  std::uint32_t target, padding;
};
struct Use {
  std::uint64_t token;
};
// A timer that is set and cancelled at random; its bytes are any number.
struct Reminder {
  std::uint32_t number, padding;
};

class RandomModel;

class RandomLp final
    : public LogicalProcess<RandomLp, Walk, Echo, Parcel, Wake, Open, Delegate, Use, Reminder> {
 public:
  explicit RandomLp(const RandomModel& model) : model_(model) {}
  void start(Context& context) override;
  void finish(FinalContext& context) override;
  void handle(Context& context, const Walk& walk);
  void handle(Context& context, const Echo& echo);
  void handle(Context& context, const Parcel& parcel);
  void handle(Context& context, Wake wake);
  void handle(Context& context, const Open& open);
  void handle(Context& context, const Delegate& delegate);
  void handle(Context& context, const Use& use);
  void handle(Context& context, const Reminder& reminder, std::span<const std::byte> bytes);

 private:
  struct Node {
    std::uint64_t value;
    std::unique_ptr<Node> next;
  };
  void note(Context& context, std::uint64_t value);
  void change_state(Context& context, std::uint64_t value);
  void send_walk(Context& context, std::uint64_t value);
  void set_reminder(Context& context, std::uint64_t value);
  template <class E>
  void send(Context& context, LpId to, Duration wait, const E& event);
  Duration delay(Context& context);
  LpId anyone(Context& context);

  const RandomModel& model_;
  std::uint64_t events_ = 0, digest_ = 0;
  std::map<std::uint64_t, std::string> names_;
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> lists_;
  std::list<std::string> log_;
  std::unique_ptr<Node> chain_;
  std::vector<std::uint64_t> open_;
  std::array<Timer, 5> reminders_;
};

class RandomModel : public Model {
 public:
  explicit RandomModel(RandomModelOptions chosen) : options(chosen) {}
  std::uint64_t lp_count() const override { return options.lps; }
  std::unique_ptr<LogicalProcessBase> create(LpId) const override {
    return std::make_unique<RandomLp>(*this);
  }
  Time default_horizon() const override { return Time::zero() + options.horizon; }

  RandomModelOptions options;
  Witness* witness = nullptr;  ///< of events of LPs that must not roll back
  const Metric values{*this, "values", "", "values noted", Keep::histogram};
  const Metric waits{*this, "waits", "ticks", "delays chosen", Keep::histogram};
  const Table notes{*this,
                    "notes",
                    {{"value", ColumnType::integer},
                     {"word", ColumnType::text},
                     {"share", ColumnType::real},
                     {"kind", ColumnType::text}},
                    "some events"};
  const Capture wire{*this, "wire", LinkType::user0, "what some events say"};
};

inline Duration RandomLp::delay(Context& context) {
  auto& random = context.random();
  const std::uint64_t kind = random.below(16);
  std::int64_t steps = 0;  // kind 0: zero delay
  if (kind == 1) steps = 200;
  if (kind > 1) steps = static_cast<std::int64_t>(random.exponential(8.0));
  const Duration delay = Duration::from_ticks(steps * model_.options.grain_ticks);
  context.record(model_.waits, static_cast<double>(delay.ticks()));
  return delay;
}

inline LpId RandomLp::anyone(Context& context) {
  auto& random = context.random();
  const std::uint64_t kind = random.below(4);
  if (kind == 0) return context.self();
  if (kind == 1) return (context.self() + 1) % context.lp_count();
  return static_cast<LpId>(random.below(context.lp_count()));
}

/// `wait` counts from the end of the event being handled. With durations, two thirds of the events
/// sent are expanded, with durations of zero, of a grain or so, and some very long ones.
template <class E>
void RandomLp::send(Context& context, LpId to, Duration wait, const E& event) {
  wait += context.duration();
  const std::uint64_t kind = model_.options.durations ? context.random().below(12) : 0;
  const bool is_named = model_.options.phases && context.random().below(3) == 0;
  const Phase phase = is_named ? any_phase(context, wait) : Phase(0);
  if (kind < 4)
    return is_named ? context.schedule(to, wait, event, phase) : context.schedule(to, wait, event);
  std::int64_t steps = 0;  // kinds 4, 5: a duration of zero
  if (kind >= 6) steps = static_cast<std::int64_t>(context.random().below(6));
  if (kind == 11) steps = 50;
  const std::int64_t ticks =
      steps * model_.options.grain_ticks + static_cast<std::int64_t>(kind % 2);
  const Duration duration = Duration::from_ticks(steps == 0 ? 0 : ticks);
  is_named ? context.schedule_expanded(to, wait, duration, event, phase)
           : context.schedule_expanded(to, wait, duration, event);
}

inline void RandomLp::start(Context& context) {
  change_state(context, model_.options.shape);
  send_walk(context, context.self());
  if (context.self() % 4 == 0) send(context, context.self(), Duration::zero(), Wake{});
}

inline void RandomLp::send_walk(Context& context, std::uint64_t value) {
  Duration wait = delay(context);
  // At least now and then time must pass, or the walk is a livelock.
  if (wait == Duration::zero() && value % 4 != 0)
    wait = Duration::from_ticks(model_.options.grain_ticks);
  send(context, anyone(context), wait, Walk{value * 3 + 1});
}

inline void RandomLp::note(Context& context, std::uint64_t value) {
  ++events_;
  digest_ = (digest_ ^ value) * 0x9e3779b97f4a7c15u + events_;
  volatile std::uint64_t sink = value;
  for (int i = 0; i < model_.options.extra_work; ++i) sink = sink * 31 + 1;
  if (model_.witness != nullptr) model_.witness->see(context, events_, value);
  if (static_cast<std::int64_t>(events_) == model_.options.fault_at_event &&
      context.self() % 8 == 3)
    throw std::runtime_error("told to fail at event " + std::to_string(events_));
}

inline void RandomLp::change_state(Context& context, std::uint64_t value) {
  auto& random = context.random();
  switch (random.below(8)) {
    case 0:
      names_[value % 17] = std::string(random.below(200), 'a') + std::to_string(value);
      break;
    case 1:
      names_.erase(value % 17);
      break;
    case 2:
      lists_[value % 5].push_back(static_cast<std::uint32_t>(value));
      break;
    case 3:
      lists_.erase(value % 5);
      break;
    case 4:
      log_.push_back(std::to_string(digest_));
      break;
    case 5:
      if (log_.size() > 4) log_.pop_front();
      break;
    case 6:
      chain_ = std::make_unique<Node>(Node{value, std::move(chain_)});
      break;
    default:
      if (chain_ != nullptr) {
        auto rest = std::move(chain_->next);
        chain_ = std::move(rest);
      }
  }
}

inline void RandomLp::handle(Context& context, const Walk& walk) {
  note(context, walk.value);
  change_state(context, walk.value);
  send_walk(context, walk.value + context.self());
  auto& random = context.random();
  const std::uint64_t extra = random.below(16);
  if (extra == 0) send(context, anyone(context), Duration::zero(), Echo{3, 7});
  if (extra == 1) {
    Parcel parcel{};
    for (auto& word : parcel.words) word = random.next();
    const LpId to = anyone(context);
    send(context, to, delay(context), parcel);
  }
  if (extra == 2 || extra == 3) {
    const std::uint64_t token = random.next();
    const LpId target = anyone(context), helper = anyone(context);
    send(context, target, Duration::from_ticks(model_.options.grain_ticks), Open{token});
    send(context, helper, Duration::zero(), Delegate{token, target, 0});
  }
  if (extra >= 12) set_reminder(context, walk.value);
  if (model_.options.rows && extra < 6)
    context.emit(model_.notes, walk.value, std::string(walk.value % 40, 'a'),
                 static_cast<double>(digest_ >> 40) * 0.125, digest_ % 2 == 0 ? "even" : "");
  if (model_.options.rows && extra > 13) {
    const std::size_t bytes = digest_ % 16 == 0 ? 9000 : digest_ % 100;
    context.capture(model_.wire, std::vector<std::byte>(bytes, std::byte(digest_ >> 56)));
  }
  context.record(model_.values, static_cast<double>(walk.value % 1000) * 0.1);
}

inline void RandomLp::handle(Context& context, const Echo& echo) {
  note(context, echo.value);
  if (echo.depth == 0) return;
  send(context, anyone(context), Duration::zero(), Echo{echo.depth - 1, echo.value * 5});
}

inline void RandomLp::handle(Context& context, const Parcel& parcel) {
  for (const std::uint64_t word : parcel.words) digest_ ^= word;
  note(context, digest_);
  std::vector<std::string> scratch(parcel.words[0] % 9, std::string(parcel.words[1] % 64, 'x'));
  log_.insert(log_.end(), scratch.begin(), scratch.end());
  while (log_.size() > 24) log_.pop_front();
}

inline void RandomLp::handle(Context& context, Wake) {
  note(context, 1);
  send(context, context.self(), Duration::from_ticks(model_.options.grain_ticks * 5), Wake{});
}

/// One in four is only cancelled.
inline void RandomLp::set_reminder(Context& context, std::uint64_t value) {
  Timer& timer = reminders_[value % reminders_.size()];
  if (context.cancel(timer)) digest_ += 3;
  if (value % 4 == 0) return;
  auto& random = context.random();
  const std::vector<std::byte> bytes(random.below(300), std::byte(value & 0xff));
  const Duration wait = context.duration() + delay(context);
  const auto number = static_cast<std::uint32_t>(value % reminders_.size());
  timer = model_.options.phases
              ? context.schedule_timer(wait, Reminder{number, 0}, any_phase(context, wait), bytes)
              : context.schedule_timer(wait, Reminder{number, 0}, bytes);
}

inline void RandomLp::handle(Context& context, const Reminder& reminder,
                             std::span<const std::byte> bytes) {
  note(context, bytes.empty() ? 0 : bytes.size() * 257 + std::to_integer<unsigned>(bytes.back()));
  if (context.cancel(reminders_[reminder.number]))
    throw std::logic_error("a timer that fires is not live");
}

inline void RandomLp::handle(Context& context, const Open& open) {
  note(context, open.token);
  open_.push_back(open.token);
}

inline void RandomLp::handle(Context& context, const Delegate& delegate) {
  note(context, delegate.token);
  send(context, delegate.target, Duration::from_ticks(model_.options.grain_ticks * 2),
       Use{delegate.token});
}

inline void RandomLp::handle(Context& context, const Use& use) {
  note(context, use.token);
  for (auto token = open_.begin(); token != open_.end(); ++token) {
    if (*token != use.token) continue;
    open_.erase(token);
    return;
  }
  throw std::logic_error("used before it was opened: only a wrong guess can see this");
}

inline void RandomLp::finish(FinalContext& context) {
  context.state(events_);
  context.state(digest_);
  for (const auto& [number, name] : names_) {
    context.state(number);
    for (const char c : name) context.state(c);
  }
  context.state(lists_.size());
  for (const std::string& line : log_) context.state(line.size());
  for (const Node* node = chain_.get(); node != nullptr; node = node->next.get())
    context.state(node->value);
  for (const std::uint64_t token : open_) context.state(token);
}

}  // namespace orrery::testing
