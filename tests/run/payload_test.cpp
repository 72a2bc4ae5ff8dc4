// SPDX-License-Identifier: Apache-2.0
//
// Events with bytes: of any length, on every engine, for structs that enter the fingerprint, that
// do not, and that are empty.
#include <numeric>
#include <vector>

#include "run/engine_cases.h"

namespace orrery::testing {
namespace {

struct Letter {
  std::uint64_t first;  ///< the value of its first byte, and the step from byte to byte
};
struct OddBytes {
  char tag[3];  ///< a size that is no multiple of 8
};
/// Not compared byte by byte: it holds a floating-point number.
struct Parcel {
  double grams;
  std::uint8_t first;
};
struct Empty {};
/// Its handler takes no bytes.
struct Card {
  std::uint32_t number;
};

using Bytes = std::span<const std::byte>;

struct PostModel : Model {
  LpId lps = 12;
  std::int64_t horizon = 400;
  std::size_t longest = 2000;
  bool expanded = true;
  std::uint8_t salt = 1;
  bool wrong_handler = false;

  std::uint64_t lp_count() const override { return lps; }
  std::unique_ptr<LogicalProcessBase> create(LpId id) const override;
  Time default_horizon() const override { return Time::from_ticks(horizon); }
};

class Post final : public LogicalProcess<Post, Letter, OddBytes, Parcel, Empty, Card> {
 public:
  explicit Post(const PostModel& model) : model_(model) {}
  void start(Context& context) override { send(context, context.self()); }
  void handle(Context& context, const Letter& letter, Bytes bytes) {
    take(context, static_cast<std::uint8_t>(letter.first), bytes);
  }
  void handle(Context& context, const OddBytes& odd, Bytes bytes) {
    take(context, static_cast<std::uint8_t>(odd.tag[2]), bytes);
  }
  void handle(Context& context, const Parcel& parcel, Bytes bytes) {
    if (parcel.grams != static_cast<double>(bytes.size())) context.fail("a parcel weighs else");
    take(context, parcel.first, bytes);
  }
  void handle(Context& context, const Empty&, Bytes bytes) {
    take(context, bytes.empty() ? std::uint8_t{0} : static_cast<std::uint8_t>(bytes[0]), bytes);
  }
  void handle(Context&, const Card&) { ++cards_; }
  void finish(FinalContext& context) override {
    context.state(sum_);
    context.state(cards_);
  }

 private:
  static std::vector<std::byte> contents(std::size_t size, std::uint8_t first, std::uint8_t step) {
    std::vector<std::byte> bytes(size);
    std::uint8_t value = first;
    for (std::byte& byte : bytes) {
      byte = static_cast<std::byte>(value);
      value = static_cast<std::uint8_t>(value + step);
    }
    return bytes;
  }
  void take(Context& context, std::uint8_t first, Bytes bytes) {
    if (reinterpret_cast<std::uintptr_t>(bytes.data()) % 8 != 0 && !bytes.empty())
      context.fail("bytes do not lie at a multiple of 8");
    const auto expected = contents(bytes.size(), first, model_.salt);
    if (!std::equal(bytes.begin(), bytes.end(), expected.begin(), expected.end()))
      context.fail("bytes have changed on their way");
    sum_ = sum_ * 31 + bytes.size();
    send(context, static_cast<LpId>(context.random().below(context.lp_count())));
  }
  void send(Context& context, LpId to) {
    auto& random = context.random();
    const Duration delay = context.duration() + ticks(random.integer(0, 9));
    const auto first = static_cast<std::uint8_t>(random.below(256));
    const std::size_t size = random.below(6) == 0 ? 0 : random.below(model_.longest + 1);
    const auto bytes = contents(size, first, model_.salt);
    if (model_.wrong_handler && context.now().ticks() > 200 && context.self() == 5)
      context.schedule(1, ticks(3), Card{7}, contents(9, 1, 1));
    switch (random.below(6)) {
      case 0:
        return context.schedule(to, delay, Letter{first}, bytes);
      case 1:
        return context.schedule(to, delay, OddBytes{{1, 2, static_cast<char>(first)}}, bytes);
      case 2:
        return context.schedule(to, delay, Parcel{static_cast<double>(size), first}, bytes);
      case 3:
        context.schedule(to, delay, Card{1});
        return context.schedule(to, delay, Empty{}, bytes);
      case 4:
        static_cast<void>(context.schedule_timer(delay, Letter{first}, bytes));
        return;
      default:
        if (!model_.expanded || size > 60'000)
          return context.schedule(to, delay, Letter{first}, bytes);
        return context.schedule_expanded(to, delay, ticks(random.integer(0, 5)),
                                         OddBytes{{0, 0, static_cast<char>(first)}}, bytes);
    }
  }

  const PostModel& model_;
  std::uint64_t sum_ = 0;
  std::uint32_t cards_ = 0;
};

std::unique_ptr<LogicalProcessBase> PostModel::create(LpId) const {
  return std::make_unique<Post>(*this);
}

class BytesBehind : public OnEveryEngine {};

TEST_P(BytesBehind, AreOfAnyLength) {
  for (const std::size_t longest : {0u, 1u, 20u, 2'000u}) {
    PostModel model;
    model.longest = longest;
    expect_completed(model);
  }
}

TEST_P(BytesBehind, AreLong) {
  PostModel model;
  model.lps = 4;
  model.longest = std::size_t{1} << 20;
  model.horizon = kSanitizers ? 15 : 60;
  expect_completed(model);
}

TEST_P(BytesBehind, AHandlerThatTakesNoBytes) {
  PostModel model;
  model.wrong_handler = true;
  const Outcome expected = reference(model);
  const Outcome actual = run(model);
  EXPECT_EQ(actual.result.end, RunEnd::fault);
  EXPECT_NE(actual.result.fault.find("the event carries 9 bytes, which its handler does not take"),
            std::string::npos)
      << actual.result.fault;
  expect_same(expected, actual, GetParam().text());
}

TEST_P(BytesBehind, TooLarge) {
  // Never read: an address range that is not there.
  const Bytes huge(reinterpret_cast<const std::byte*>(0x1000), std::size_t{1} << 30);
  const Bytes large(reinterpret_cast<const std::byte*>(0x1000), 64 * 1024 - 15);
  for (const bool expanded : {false, true}) {
    ScriptModel model(4);
    script_walks(model);
    const auto walk = model.on_step;
    model.on_step = [&](Context& context, ScriptLp& self, const Step& step) {
      walk(context, self, step);
      if (context.self() != 2 || context.now().ticks() < 300) return;
      if (expanded) {
        context.schedule_expanded(1, ticks(1), ticks(1), Step{}, large);
      } else {
        context.schedule(1, ticks(1), Step{}, huge);
      }
    };
    const Outcome expected = reference(model);
    const Outcome actual = run(model);
    EXPECT_EQ(actual.result.end, RunEnd::fault);
    const char* const sentence = expanded
                                     ? "it sent an expanded event of 65537 bytes to LP 1; an "
                                       "expanded event is at most 64 KiB"
                                     : "it sent an event of 1073741840 bytes to LP 1; an event is "
                                       "less than 1 GiB";
    EXPECT_NE(actual.result.fault.find(sentence), std::string::npos) << actual.result.fault;
    expect_same(expected, actual, GetParam().text());
  }
}

ORRERY_ON_EVERY_ENGINE(BytesBehind);

TEST(BytesOfEvents, EntersTheFingerprint) {
  PostModel one, other;
  other.salt = 3;
  const auto fingerprint = [](const Model& model) {
    return run_model(model, "sequential", {}).result.fingerprint;
  };
  EXPECT_EQ(fingerprint(one), fingerprint(one));
  EXPECT_NE(fingerprint(one), fingerprint(other));
}

TEST(BytesOfEvents, IsChecked) {
  PostModel model;
  model.lps = 5;
  model.horizon = 120;
  expect_same(run_model(model, "sequential", {}), run_model(model, "checker", {}), "checker");
}

}  // namespace
}  // namespace orrery::testing
