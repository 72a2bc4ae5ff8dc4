// SPDX-License-Identifier: Apache-2.0
//
// LPs that ask each other and remember what they asked. An answer that nobody asked for can only
// come of a wrong guess; what an LP does then is its own.
#pragma once

#include <cstdint>
#include <map>

#include "orrery/orrery.h"

namespace orrery::testing {

struct Tick {};
struct Question {
  std::uint64_t id;
  LpId from;
  std::uint32_t pad;
};
struct Answer {
  std::uint64_t id;
  LpId from;
  std::uint32_t pad;
};

struct AskerShape {
  LpId lps;
  std::int64_t spread_ticks;
  double zero_share;  ///< of questions, and of answers
};

class Asker : public LogicalProcess<Asker, Tick, Question, Answer> {
 public:
  explicit Asker(const AskerShape& shape) : shape_(shape) {}
  void start(Context& context) override {
    context.schedule(context.self(), Duration::from_ticks(1 + context.self() % 3), Tick{});
  }
  void handle(Context& context, const Tick&) {
    const auto peer = static_cast<LpId>(context.random().below(context.lp_count()));
    open_.emplace(++asked_, peer);
    context.schedule(peer, delay(context), Question{asked_, context.self(), 0});
    context.schedule(context.self(), some_ticks(context), Tick{});
    has_asked(context, asked_);
  }
  void handle(Context& context, const Question& question) {
    digest_ = digest_ * 31 + question.id;
    context.schedule(question.from, delay(context), Answer{question.id, context.self(), 0});
  }
  void handle(Context& context, const Answer& answer) {
    const auto found = open_.find(answer.id);
    if (found == open_.end() || found->second != answer.from) {
      digest_ = ~digest_;
      bear_unasked(context, answer);
      return;
    }
    open_.erase(found);
    digest_ = digest_ * 37 + answer.id;
  }
  void finish(FinalContext& context) override {
    context.state(digest_);
    context.state(static_cast<std::uint64_t>(open_.size()));
  }

 protected:
  /// After the n-th question.
  virtual void has_asked(Context&, std::uint64_t) {}
  virtual void bear_unasked(Context& context, const Answer& answer) = 0;

 private:
  Duration some_ticks(Context& context) const {
    return Duration::from_ticks(1 + static_cast<std::int64_t>(context.random().below(
                                        static_cast<std::uint64_t>(shape_.spread_ticks))));
  }
  Duration delay(Context& context) const {
    return context.random().uniform() < shape_.zero_share ? Duration::zero() : some_ticks(context);
  }

  const AskerShape shape_;
  std::map<std::uint64_t, LpId> open_;
  std::uint64_t asked_ = 0, digest_ = 1;
};

}  // namespace orrery::testing
