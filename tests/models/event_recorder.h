// SPDX-License-Identifier: Apache-2.0
//
// A tiny engine in the open: handles the events of a model in the order of their keys and keeps a
// record of each, with its duration, and of each send to another LP. So a test can see what a model
// promises to engines: durations, lookahead, and how many events are independent of each other.
#pragma once

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/event_header.h"
#include "run/containment/faults.h"
#include "run/engine.h"
#include "run/execution/send_rules.h"
#include "run/options/model_checks.h"
#include "run/results/finish.h"

namespace orrery::testing {

class EventRecorder final : public Context {
 public:
  struct Handled {
    Time start, end;
    LpId lp;
    std::uint32_t microstep;
    std::string type;
  };

  EventRecorder(const Model& model, Time until) : model_(model) {
    lp_count_ = static_cast<LpId>(model.lp_count());
    metric_bytes_ = model.metric_bytes();
    for (LpId id = 0; id < lp_count_; ++id) lps_.push_back({model.create(id)});
    for (LpId id = 0; id < lp_count_; ++id) {
      begin(id, Key::start_of(Time::zero()));
      lps_[id].object->start(*this);
      end_event();
    }
    while (!pending_.empty() && pending_.begin()->first.time() < until) handle_first();
  }

  const std::vector<Handled>& handled() const { return handled_; }
  Duration shortest_delay_to_others() const { return shortest_; }

  /// Mean number of events that may run at once by the rule of expanded events, if all take equally
  /// long: lots are made of what has not run yet, from the lowest key on up to the earliest time at
  /// which something may follow from what comes before; of each LP the first event only.
  double mean_independent() const {
    std::vector<const Handled*> left;
    for (const Handled& event : handled_) left.push_back(&event);
    double lots = 0;
    while (!left.empty()) {
      left = without_next_lot(left);
      ++lots;
    }
    return lots > 0 ? static_cast<double>(handled_.size()) / lots : 0.0;
  }

 private:
  using Moment = std::pair<Time, std::uint32_t>;  // time and microstep

  /// The first moment at which something that an event sends may be handled.
  static Moment barrier_of(const Handled& event) {
    return event.end > event.start ? Moment{event.end, 0}
                                   : Moment{event.start, event.microstep + 1};
  }

  /// Also an event that has to wait for another of its LP bounds what comes after it.
  static std::vector<const Handled*> without_next_lot(const std::vector<const Handled*>& left) {
    std::vector<const Handled*> rest;
    std::set<LpId> busy;
    Moment barrier{Time::max(), 0};
    std::size_t i = 0;
    for (; i < left.size() && Moment{left[i]->start, left[i]->microstep} < barrier; ++i) {
      barrier = std::min(barrier, barrier_of(*left[i]));
      if (!busy.insert(left[i]->lp).second) rest.push_back(left[i]);
    }
    rest.insert(rest.end(), left.begin() + static_cast<std::ptrdiff_t>(i), left.end());
    return rest;
  }

  struct Lp {
    std::unique_ptr<LogicalProcessBase> object;
    std::uint64_t random_position = 0, sends = 0;
  };
  struct Event : EventHeader {
    using EventHeader::EventHeader;
    std::vector<std::uint64_t> payload;
  };

  void handle_first() {
    const Event event = std::move(pending_.extract(pending_.begin()).mapped());
    begin(event.receiver, event.key());
    minimum_delay_ = duration_of(event, event.payload.data());
    LogicalProcessBase& lp = *lps_[event.receiver].object;
    handled_.push_back({now_, now_ + minimum_delay_, event.receiver, event.key().step(),
                        std::string(lp.event_name(event.type))});
    if (!lp.dispatch(*this, event.type, event.payload.data(), model_bytes_of(event)))
      throw std::logic_error("an LP got an event that it has no handler for");
    end_event();
  }
  void begin(LpId id, const Key& key) {
    now_ = key.time();
    self_ = id;
    cause_ = key;
    lp_ = lps_[id].object.get();
    minimum_delay_ = Duration::zero();
    random_.begin(1, id, lps_[id].random_position);
  }
  void end_event() { lps_[self_].random_position = random_.position(); }

  void send(LpId destination, Duration delay, EventTypeId type, std::uint32_t size_word,
            const void* payload) override {
    const Key key = key_of_send(model_, promises_, cause_, self_, ++lps_[self_].sends, destination,
                                lp_count_, delay, minimum_delay_, 1000);
    const PayloadSize size = PayloadSize::of_word(size_word);
    Event event(key, destination, type, size);
    event.payload.resize((size.bytes() + 7) / 8 + 1);
    std::memcpy(event.payload.data(), payload, size.bytes());
    pending_.emplace(key, std::move(event));
    if (destination != self_) shortest_ = std::min(shortest_, delay);
  }
  void append_row(std::uint32_t, std::span<const std::uint64_t>) override {}

  const Model& model_;
  const Promises promises_{model_, communication_of(model_)};
  std::vector<Lp> lps_;
  std::map<Key, Event> pending_;
  std::vector<Handled> handled_;
  Duration shortest_ = Duration::max();
  Key cause_;
};

}  // namespace orrery::testing
