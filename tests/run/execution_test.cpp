// SPDX-License-Identifier: Apache-2.0
//
// The execution of handlers with an outbox that only keeps what it gets: keys, horizon, send count,
// random position, rows and refusals; and that events executed one by one this way have the
// fingerprint that the sequential engine computes.
#include "run/execution/execution.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "instant.h"
#include "orrery/orrery.h"
#include "run/engine.h"
#include "run/results/finish.h"

namespace orrery {
namespace {

struct Ball {
  std::uint32_t hops;
};
struct Stranger {};  ///< no LP has a handler for it

class Player;
using Script = std::function<void(Context&, Player&, const Ball&)>;

class Game : public Model {
 public:
  explicit Game(LpId lps = 4) : lps_(lps) {}
  std::uint64_t lp_count() const override { return lps_; }
  std::unique_ptr<LogicalProcessBase> create(LpId) const override;

  Metric height{*this, "height", "", "Of a throw"};
  Table throws{*this, "throws", {{"hops", ColumnType::integer}, {"height"}}, "Throws"};
  std::function<void(Context&)> on_start = [](Context&) {};
  Script on_ball = [](Context&, Player&, const Ball&) {};

 private:
  const LpId lps_;
};

class Player : public LogicalProcess<Player, Ball> {
 public:
  explicit Player(const Game& game) : game_(game) {}
  void start(Context& context) override { game_.on_start(context); }
  void handle(Context& context, const Ball& ball) { game_.on_ball(context, *this, ball); }
  void finish(FinalContext& context) override { context.state(balls); }
  std::uint64_t balls = 0;

 private:
  const Game& game_;
};

std::unique_ptr<LogicalProcessBase> Game::create(LpId) const {
  return std::make_unique<Player>(*this);
}

/// What leaves an execution, kept.
struct Kept {
  struct Sent {
    EventHeader header;
    std::vector<std::byte> payload;
  };
  struct Emitted {
    Key key;
    std::uint32_t ordinal;
    LpId lp;
    std::vector<std::uint64_t> cells;
  };
  std::vector<Sent> sent;
  std::vector<Emitted> rows;
  std::vector<std::size_t> saved_bytes, remembered_bytes;
};

struct PlainOutbox {
  Kept* kept;
  using Modes = OutboxModes<HandlersMode>;
  template <class Payload>
  void send(const EventHeader& header, const Payload& payload) {
    std::vector<std::byte> bytes(header.size.bytes());
    if (!bytes.empty()) write_payload(bytes.data(), payload, header.size);
    kept->sent.push_back({header, bytes});
  }
  void append_row(const Row& row) {
    kept->rows.push_back({row.key, row.ordinal, row.lp, {row.cells.begin(), row.cells.end()}});
  }
};
struct ReversibleOutbox : PlainOutbox {
  void save_before(const void*, std::size_t bytes) { kept->saved_bytes.push_back(bytes); }
  void remember(const void*, std::size_t bytes) { kept->remembered_bytes.push_back(bytes); }
};

using testing::at;
using testing::ticks;

EventHeader ball_header(const Key& key, LpId to, const Ball& ball) {
  return {key, to, event_type_id<Ball>, PayloadSize(sizeof ball, event_payload_is_hashed<Ball>)};
}

/// One player, the one with number 2, and what it does.
template <class Outbox>
class OnePlayer {
 public:
  explicit OnePlayer(RunOptions options = {})
      : options_(options),
        execution(game, promises_, options_, make_outbox()),
        lp(game.create(2)) {}

  /// Throws what the handler throws.
  void handle(const Ball& ball, const Key& key) {
    const EventHeader header = ball_header(key, 2, ball);
    handle(header, &ball);
  }
  void handle(const EventHeader& header, const void* payload) {
    execution.begin(header, payload, *lp, kernel);
    execution.call();
    execution.end(kernel);
  }
  /// The sentence of the fault, or "".
  std::string failure(const EventHeader& header, const void* payload) {
    try {
      handle(header, payload);
    } catch (...) {
      return execution.describe_failure();
    }
    return "";
  }

  Kept kept;
  Game game;
  KernelState kernel{.hash = 11, .random_position = 5, .sends = 100};

 private:
  Outbox make_outbox() {
    Outbox outbox;
    outbox.kept = &kept;
    return outbox;
  }
  const RunOptions options_;
  const Promises promises_;

 public:
  Execution<Outbox> execution;
  std::unique_ptr<LogicalProcessBase> lp;
};
using Plain = OnePlayer<PlainOutbox>;

const Key kCause(at(50), 3, 1, 9);

TEST(Execution, GivesSendsTheirKeys) {
  Plain player;
  player.game.on_ball = [](Context& context, Player&, const Ball&) {
    context.schedule(0, ticks(7), Ball{1});
    context.schedule(2, Duration::zero(), Ball{2});
    context.schedule(3, ticks(1), Ball{3});
  };
  player.handle(Ball{0}, kCause);
  ASSERT_EQ(player.kept.sent.size(), 3u);
  const std::pair<Key, LpId> expected[] = {{Key(at(57), 0, 2, 101), 0},
                                           {Key(at(50), 4, 2, 102), 2},  // after its cause
                                           {Key(at(51), 0, 2, 103), 3}};
  for (std::size_t i = 0; i < 3; ++i) {
    const Kept::Sent& sent = player.kept.sent[i];
    EXPECT_EQ(sent.header.key(), expected[i].first) << i;
    EXPECT_EQ(sent.header.receiver, expected[i].second) << i;
    EXPECT_EQ(sent.header.type, event_type_id<Ball>);
    ASSERT_EQ(sent.payload.size(), sizeof(Ball));
    Ball ball;
    std::memcpy(&ball, sent.payload.data(), sizeof ball);
    EXPECT_EQ(ball.hops, i + 1);
  }
  EXPECT_EQ(player.kernel.sends, 103u);
}

TEST(Execution, DropsWhatIsSentToTheHorizonAndCountsIt) {
  RunOptions options;
  options.until = at(60);
  Plain player(options);
  player.game.on_ball = [](Context& context, Player&, const Ball&) {
    context.schedule(0, ticks(9), Ball{});
    context.schedule(0, ticks(10), Ball{});  // the horizon is half-open
    context.schedule(0, ticks(11), Ball{});
    context.schedule(0, ticks(1), Ball{});
  };
  player.handle(Ball{}, kCause);
  ASSERT_EQ(player.kept.sent.size(), 2u);
  EXPECT_EQ(player.kept.sent[0].header.key(), Key(at(59), 0, 2, 101));
  EXPECT_EQ(player.kept.sent[1].header.key(), Key(at(51), 0, 2, 104))
      << "keys do not depend on the horizon";
  EXPECT_EQ(player.kernel.sends, 104u);
}

TEST(Execution, TakesTheStreamUpWhereItWasLeft) {
  Plain player;
  std::vector<std::uint64_t> drawn;
  player.game.on_ball = [&](Context& context, Player&, const Ball& ball) {
    for (std::uint32_t i = 0; i < ball.hops; ++i) drawn.push_back(context.random().next());
  };
  player.handle(Ball{0}, kCause);
  EXPECT_EQ(player.kernel.random_position, 5u) << "nothing was drawn";
  const KernelState before = player.kernel;
  player.handle(Ball{5}, kCause);
  const KernelState after = player.kernel;
  EXPECT_GT(after.random_position, before.random_position);
  player.kernel = before;  // a rollback
  player.handle(Ball{5}, kCause);
  EXPECT_EQ(player.kernel, after);
  ASSERT_EQ(drawn.size(), 10u);
  EXPECT_TRUE(std::equal(drawn.begin(), drawn.begin() + 5, drawn.begin() + 5));
  player.handle(Ball{1}, kCause);
  EXPECT_EQ(std::count(drawn.begin(), drawn.begin() + 5, drawn.back()), 0) << "it goes on";
}

TEST(Execution, NumbersTheRowsOfAnEvent) {
  Plain player;
  player.game.on_ball = [&](Context& context, Player&, const Ball& ball) {
    for (std::uint32_t i = 0; i < ball.hops; ++i) context.emit(player.game.throws, i, 0.5);
  };
  player.handle(Ball{2}, kCause);
  EXPECT_EQ(player.execution.rows(), 2u);
  const std::uint64_t hash = player.kernel.hash;
  const Key next(at(51), 0, 0, 1);
  player.handle(Ball{1}, next);
  EXPECT_NE(player.kernel.hash, hash);
  EXPECT_EQ(player.execution.rows(), 1u);
  ASSERT_EQ(player.kept.rows.size(), 3u);
  const std::pair<Key, std::uint32_t> expected[] = {{kCause, 0}, {kCause, 1}, {next, 0}};
  for (std::size_t i = 0; i < 3; ++i) {
    const Kept::Emitted& row = player.kept.rows[i];
    EXPECT_EQ(row.key, expected[i].first) << i;
    EXPECT_EQ(row.ordinal, expected[i].second) << i;
    EXPECT_EQ(row.lp, 2u);
    ASSERT_EQ(row.cells.size(), 2u);
    EXPECT_EQ(row.cells[0], expected[i].second);
  }
  player.handle(Ball{0}, next);
  EXPECT_EQ(player.execution.rows(), 0u);
}

TEST(Execution, ATypeWithoutAHandlerIsAModelFault) {
  Plain player;
  const EventHeader header(kCause, 2, event_type_id<Stranger>, PayloadSize(0, false));
  EXPECT_EQ(player.failure(header, nullptr),
            "model fault in LP 2, event of an unknown type at 50 ns (tick 50): the LP has no "
            "handler for this event type (sent by LP 1); add it to its list of event types");
}

TEST(Execution, NamesTheEventWhoseHandlerFails) {
  Plain player;
  player.game.on_ball = [](Context& context, Player&, const Ball& ball) {
    if (ball.hops == 0) context.fail("it was dropped");
    context.schedule(4, ticks(1), ball);
  };
  Ball ball{0};
  EXPECT_EQ(player.failure(ball_header(kCause, 2, ball), &ball),
            "model fault in LP 2, event Ball at 50 ns (tick 50): it was dropped");
  ball.hops = 1;
  EXPECT_EQ(player.failure(ball_header(kCause, 2, ball), &ball),
            "model fault in LP 2, event Ball at 50 ns (tick 50): it sent an event to LP 4, but the "
            "model has LPs 0 to 3");
  EXPECT_EQ(player.kernel, (KernelState{.hash = 11, .random_position = 5, .sends = 100}))
      << "what failed leaves no trace";
}

TEST(Execution, RefusesTooManyZeroDelaysInARow) {
  RunOptions options;
  options.livelock_microsteps = 4;
  Plain player(options);
  player.game.on_ball = [](Context& context, Player&, const Ball& ball) {
    context.schedule(2, Duration::zero(), ball);
  };
  const Ball ball{};
  EXPECT_EQ(player.failure(ball_header(Key(at(50), 3, 1, 9), 2, ball), &ball), "");
  EXPECT_NE(player.failure(ball_header(Key(at(50), 4, 1, 9), 2, ball), &ball).find("livelock"),
            std::string::npos);
}

TEST(Execution, HoldsWhatAnExpandedEventSendsToItsEnd) {
  Plain player;
  Duration delay = ticks(20);
  player.game.on_ball = [&](Context& context, Player&, const Ball& ball) {
    EXPECT_EQ(context.duration(), ticks(20));
    context.schedule(0, delay, ball);
  };
  struct {
    Ball ball{};
    char duration[8];
  } payload;
  const std::int64_t duration = 20;
  std::memcpy(payload.duration, &duration, sizeof duration);
  const EventHeader header(kCause, 2, event_type_id<Ball>, PayloadSize(12, true, true));
  EXPECT_EQ(player.failure(header, &payload), "");
  ASSERT_EQ(player.kept.sent.size(), 1u);
  EXPECT_EQ(player.kept.sent[0].header.time(), at(70));
  delay = ticks(19);
  EXPECT_NE(player.failure(header, &payload).find("before its own end"), std::string::npos);
}

TEST(Execution, StartsLpsAtTimeZero) {
  Plain player;
  player.game.on_start = [](Context& context) {
    EXPECT_EQ(context.now(), Time::zero());
    EXPECT_EQ(context.duration(), Duration::zero());
    context.schedule(1, Duration::zero(), Ball{});
    context.fail("it cannot begin");
  };
  player.execution.begin_start(2, *player.lp, player.kernel);
  std::string sentence;
  try {
    player.execution.call_start();
  } catch (...) {
    sentence = player.execution.describe_failure();
  }
  EXPECT_EQ(sentence, "model fault in LP 2, start of the run: it cannot begin");
  ASSERT_EQ(player.kept.sent.size(), 1u);
  EXPECT_EQ(player.kept.sent[0].header.key(), Key(Time::zero(), 1, 2, 101));
}

TEST(Execution, AsksForWhatAReverseHandlerNeedsOnlyWhereThereMayBeOne) {
  OnePlayer<ReversibleOutbox> player;
  player.game.on_ball = [&](Context& context, Player&, const Ball& ball) {
    context.remember(ball.hops);
    context.record(player.game.height, 2.5);
  };
  player.handle(Ball{}, kCause);
  EXPECT_TRUE(player.kept.remembered_bytes.empty());
  EXPECT_TRUE(player.kept.saved_bytes.empty());
  player.execution.set_reversing(true);
  player.handle(Ball{}, kCause);
  EXPECT_EQ(player.kept.remembered_bytes, std::vector<std::size_t>{sizeof(std::uint32_t)});
  EXPECT_EQ(player.kept.saved_bytes, std::vector<std::size_t>{sizeof(Summary)});
  player.execution.set_reversing(false);
  player.handle(Ball{}, kCause);
  EXPECT_EQ(player.kept.remembered_bytes.size(), 1u);
}

// ---- Against the sequential engine

/// Ties, zero delays, draws, rows and metrics.
void play(Game& game) {
  game.on_start = [](Context& context) {
    for (std::uint32_t i = 0; i < 3; ++i) context.schedule(context.self(), ticks(i), Ball{i});
  };
  game.on_ball = [&game](Context& context, Player& player, const Ball& ball) {
    ++player.balls;
    const std::uint64_t draw = context.random().next();
    context.record(game.height, static_cast<double>(draw % 1000) / 7);
    if (draw % 3 == 0) context.emit(game.throws, ball.hops, static_cast<double>(draw % 100));
    const auto to = static_cast<LpId>(draw / 16 % context.lp_count());
    const bool zero = draw % 4 == 0;
    context.schedule(to, zero ? Duration::zero() : ticks(1 + draw / 256 % 5), Ball{ball.hops + 1});
  };
}

/// The shortest of all simulators.
RunResult run_one_by_one(const Game& game, const RunOptions& options) {
  Kept kept;
  std::map<Key, Kept::Sent> pending;
  const auto take_sends = [&] {
    for (Kept::Sent& sent : kept.sent) pending.emplace(sent.header.key(), std::move(sent));
    kept.sent.clear();
  };
  const Promises promises;
  Execution<PlainOutbox> execution(game, promises, options, {&kept});
  std::vector<std::unique_ptr<LogicalProcessBase>> lps;
  std::vector<KernelState> kernels(game.lp_count());
  for (LpId id = 0; id < game.lp_count(); ++id) {
    lps.push_back(game.create(id));
    execution.begin_start(id, *lps[id], kernels[id]);
    execution.call_start();
    execution.end(kernels[id]);
  }
  RunResult result;
  for (take_sends(); !pending.empty(); take_sends()) {
    const Kept::Sent event = std::move(pending.extract(pending.begin()).mapped());
    const LpId id = event.header.receiver;
    execution.begin(event.header, event.payload.data(), *lps[id], kernels[id]);
    execution.call();
    execution.end(kernels[id]);
    ++result.committed;
  }
  Finisher finisher(game, options.until, nullptr);
  for (LpId id = 0; id < lps.size(); ++id) finisher.finish(id, *lps[id], kernels[id].hash);
  finisher.store(result);
  return result;
}

TEST(Execution, GivesTheFingerprintOfTheSequentialEngine) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Game game(7);
    play(game);
    RunOptions options;
    options.seed = seed;
    options.until = at(400);
    const RunResult ours = run_one_by_one(game, options);
    RunControl control;
    const RunResult theirs = find_engine("sequential").make()->run(game, options, control);
    EXPECT_GT(ours.committed, 1000u);
    EXPECT_EQ(ours.committed, theirs.committed);
    EXPECT_EQ(ours.fingerprint, theirs.fingerprint);
    EXPECT_EQ(ours.metrics[0].sum, theirs.metrics[0].sum);
    EXPECT_EQ(ours.metrics[0].squares, theirs.metrics[0].squares);
  }
}

}  // namespace
}  // namespace orrery
