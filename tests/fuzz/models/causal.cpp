// SPDX-License-Identifier: Apache-2.0
//
// A model whose LPs know what must have happened before: messages of a sender arrive in the order
// in which they were sent, and an answer belongs to a question. In the order of events this always
// holds; an LP that executes ahead sees it broken, and its handler fails in a way of one's choice.
// Such a failure must leave no trace, since no state in which it happens ever commits.
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "orrery/orrery.h"

namespace orrery::fuzz {
namespace {

struct Tick {};
struct Message {
  std::uint64_t number;
  std::uint32_t from, padding;
};
struct Question {
  std::uint64_t number;
  std::uint32_t from, padding;
};
struct Answer {
  std::uint64_t number, value;
  std::uint32_t from, padding;
};

class Causal final : public Model {
 public:
  Parameter<std::int64_t> lps{*this, "lps", 8, {.help = "LPs", .minimum = 1, .maximum = 65536}};
  Parameter<std::int64_t> spread{
      *this, "spread", 20, {.help = "delays are at most this many ticks", .minimum = 1}};
  Parameter<double> zero{
      *this, "zero", 0.1, {.help = "share of delays of zero", .minimum = 0.0, .maximum = 1.0}};
  Parameter<std::string> bad{*this,
                             "bad",
                             "throw",
                             {.help = "what a handler does where causes are missing",
                              .choices = {"fail", "throw", "number", "twice", "negative", "nowhere",
                                          "endless", "memory", "storm", "flood"}}};
  Parameter<std::int64_t> commits_at{
      *this, "commits_at", 0, {.help = "LP 0 does so at this tick of its own (0: never)"}};
  const Metric answered{*this, "answered", "1", "answers, scaled", Keep::histogram};
  const Table answers{*this, "answers", {{"value", ColumnType::integer}}, "some answers"};

  std::uint64_t lp_count() const override { return static_cast<std::uint64_t>(lps.value()); }
  std::unique_ptr<LogicalProcessBase> create(LpId) const override;
  Time default_horizon() const override { return Time::from_ticks(1'000); }
};

class CausalLp final : public LogicalProcess<CausalLp, Tick, Message, Question, Answer> {
 public:
  explicit CausalLp(const Causal& model) : model_(model) {}

  void start(Context& context) override {
    context.schedule(context.self(), Duration::from_ticks(1), Tick{});
  }

  void handle(Context& context, Tick) {
    if (++ticks_ == model_.commits_at && context.self() == 0) misbehave(context, 0);
    const LpId receiver = anyone(context), asked = anyone(context);
    // The same delay for all: who sends first is received first.
    context.schedule(receiver, Duration::from_ticks(model_.spread),
                     Message{++sent_[receiver], context.self(), 0});
    ++questions_;
    open_[questions_] = {asked, std::string(questions_ % 50, 'q')};
    context.schedule(asked, delay(context), Question{questions_, context.self(), 0});
    context.schedule(context.self(), Duration::from_ticks(1) + delay(context), Tick{});
  }

  void handle(Context& context, const Message& message) {
    std::uint64_t& last = received_[message.from];
    if (message.number != last + 1) misbehave(context, message.number);
    last = message.number;
    digest_ = digest_ * 31 + message.number;
  }

  void handle(Context& context, const Question& question) {
    digest_ = digest_ * 31 + question.number;
    const bool now = context.random().bernoulli(model_.zero);
    context.schedule(question.from, Duration::from_ticks(now ? 0 : 1),
                     Answer{question.number, digest_, context.self(), 0});
  }

  void handle(Context& context, const Answer& answer) {
    const auto question = open_.find(answer.number);
    if (question == open_.end() || question->second.asked != answer.from)
      return misbehave(context, answer.number);
    open_.erase(question);
    digest_ = digest_ * 31 + answer.value;
    context.record(model_.answered, static_cast<double>(digest_ % 1000) * 0.1);
    if (digest_ % 8 == 0) context.emit(model_.answers, digest_);
  }

  void finish(FinalContext& context) override {
    context.state(digest_);
    context.state(ticks_);
    for (const auto& [number, question] : open_) context.state(number + question.text.size());
  }

 private:
  LpId anyone(Context& context) {
    return static_cast<LpId>(context.random().below(context.lp_count()));
  }
  Duration delay(Context& context) {
    if (context.random().bernoulli(model_.zero)) return Duration::zero();
    const auto most = static_cast<std::uint64_t>(model_.spread.value());
    return Duration::from_ticks(1 + static_cast<std::int64_t>(context.random().below(most)));
  }

  void misbehave(Context& context, std::uint64_t number) {
    const std::string& bad = model_.bad;
    digest_ ^= 0xbad;
    if (bad == "fail") context.fail("message " + std::to_string(number) + " is out of order");
    if (bad == "throw") throw std::logic_error(std::string(100, '!') + std::to_string(number));
    if (bad == "number") throw number;
    if (bad == "twice") free_twice();
    if (bad == "negative") context.schedule(0, Duration::from_ticks(-1), Tick{});
    if (bad == "nowhere") context.schedule(context.lp_count(), Duration::zero(), Tick{});
    if (bad == "endless") context.schedule(0, Duration::max(), Tick{});
    if (bad == "memory") hoard_.resize(std::size_t{1} << 45);
    if (bad == "storm") storm(context, number);
    if (bad == "flood") flood(context, number);
  }

  static void free_twice() {
    void* volatile memory = std::malloc(40);  // volatile: the compiler sees nothing wrong
    std::free(memory);
    std::free(memory);
  }

  /// Sends much that never should have been sent: it must all be taken back.
  void storm(Context& context, std::uint64_t number) {
    ask(context, number, 8);
    throw std::logic_error("a storm");
  }

  /// The same, and goes on: the answers to what it asks belong to no question, so each is answered
  /// with a flood in turn. Whoever does not hold back executes nothing else any more.
  void flood(Context& context, std::uint64_t number) { ask(context, number, 5); }

  static void ask(Context& context, std::uint64_t number, LpId count) {
    for (LpId i = 0; i < count; ++i) {
      const LpId to = (context.self() + i) % context.lp_count();
      context.schedule(to, Duration::from_ticks(i), Question{number, context.self(), 1});
    }
  }

  struct Open {
    LpId asked;
    std::string text;
  };

  const Causal& model_;
  std::uint64_t digest_ = 1, questions_ = 0;
  std::int64_t ticks_ = 0;
  std::map<LpId, std::uint64_t> sent_, received_;
  std::map<std::uint64_t, Open> open_;
  std::vector<char> hoard_;
};

std::unique_ptr<LogicalProcessBase> Causal::create(LpId) const {
  return std::make_unique<CausalLp>(*this);
}

ORRERY_MODEL(Causal, "causal", "handlers that fail only in states that never commit");

}  // namespace
}  // namespace orrery::fuzz
