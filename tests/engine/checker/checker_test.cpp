// SPDX-License-Identifier: Apache-2.0
//
// The checker engine: one model for each mistake that it is to find, with the words by which its
// sentence names the mistake; and correct models, also odd ones, on which it must find nothing and
// commit what the sequential engine commits. The mistakes are genuine: what is undefined here is
// read or written through pointers that the compiler cannot follow.
#include <arpa/inet.h>
#include <grp.h>
#include <pwd.h>
#include <search.h>

#include <algorithm>
#include <cerrno>
#include <cfenv>
#include <chrono>
#include <clocale>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <cwchar>
#include <locale>
#include <map>
#include <random>
#include <unordered_map>

#include "checkpoint/options.h"
#include "engine/timewarp/settings.h"
#include "equality/random_model.h"
#include "run/engine_cases.h"
#include "sanitizers.h"

namespace orrery::testing {
namespace {

/// Hides where a pointer or a number comes from.
template <class T>
T opaque(T value) {
  asm volatile("" : "+r"(value) : : "memory");
  return value;
}

std::mbstate_t* const kNoState = nullptr;

Outcome check(const Model& model, RunOptions options = {}) {
  return run_model(model, "checker", options);
}

::testing::AssertionResult names(const Outcome& outcome, const std::vector<std::string>& parts) {
  if (outcome.result.end != RunEnd::fault)
    return ::testing::AssertionFailure() << "the checker found nothing";
  for (const std::string& part : parts) {
    if (outcome.result.fault.find(part) == std::string::npos) {
      return ::testing::AssertionFailure()
             << "'" << part << "' is not in: " << outcome.result.fault;
    }
  }
  return ::testing::AssertionSuccess();
}

/// Walks on which LP 3 also makes a mistake at each of its events from tick 100 on.
class Mistakes : public ::testing::Test {
 protected:
  void at_each_event(std::function<void(Context&, ScriptLp&)> mistake) {
    script_walks(model);
    const auto walk = model.on_step;
    model.on_step = [walk, mistake](Context& context, ScriptLp& lp, const Step& step) {
      walk(context, lp, step);
      if (context.self() == 3 && context.now().ticks() >= 100) mistake(context, lp);
    };
  }
  ScriptModel model{8, 4000};
};

// ---- State outside of the LP
// ---------------------------------------------------------------------

int global_counter = 0;

TEST_F(Mistakes, GlobalCounterInTheState) {
  at_each_event(
      [](Context&, ScriptLp& lp) { lp.digest += static_cast<std::uint64_t>(++global_counter); });
  EXPECT_TRUE(names(check(model), {"model fault in LP 3, event Step at", "ScriptLp",
                                   "the LP's object", "changes the variable", "global_counter"}));
}

TEST_F(Mistakes, StaticLocalInASend) {
  at_each_event([](Context& context, ScriptLp&) {
    static std::int64_t calls = 0;
    context.schedule(2, ticks(1 + ++calls), Step{});
  });
  EXPECT_TRUE(names(check(model), {"LP 3", "its send 2", "to LP 2", "::calls"}));
}

volatile std::uint64_t last_seen[4];

TEST(Checker, FindsAStaticThatReachesNothing) {
  if (kAddressSanitizer) GTEST_SKIP() << "the sanitizer makes megabytes of static data";
  ScriptModel few(4, 20'000);  // the command's data is large: only a sample of events is watched
  script_walks(few);
  few.on_step = [walk = few.on_step](Context& context, ScriptLp& lp, const Step& step) {
    walk(context, lp, step);
    last_seen[0] = static_cast<std::uint64_t>(context.now().ticks());
  };
  EXPECT_TRUE(names(check(few), {"it changes the variable", "last_seen"}));
}

TEST_F(Mistakes, StaticContainerThatGrows) {
  if (kAddressSanitizer) GTEST_SKIP() << "the sanitizer ends the process at the use after rollback";
  at_each_event([](Context& context, ScriptLp& lp) {
    static std::vector<std::int64_t> all;
    all.push_back(context.now().ticks());
    lp.digest += all.size();
  });
  EXPECT_TRUE(names(check(model), {"LP 3", "::all"}));
}

TEST_F(Mistakes, MemoryOfTheModel) {
  std::vector<std::uint64_t> shared(8);
  at_each_event(
      [&shared](Context& context, ScriptLp& lp) { lp.digest += ++shared[context.self()]; });
  EXPECT_TRUE(names(check(model), {"LP 3", "the LP's object", "memory of the model object"}));
}

/// A single rollback finds the shared word as the event has left it.
TEST_F(Mistakes, MemoryOfTheModelThatEachEventOverwrites) {
  std::vector<std::uint64_t> shared(8);
  at_each_event([&shared](Context& context, ScriptLp& lp) {
    if (lp.handled % 2 == 0)
      shared[context.self()] = lp.handled;
    else
      lp.digest += shared[context.self()];
  });
  EXPECT_TRUE(names(check(model), {"LP 3", "after a rollback of several events", "overwrites"}));
  RunOptions single;
  single.set(checkpoint::kCheckpoint, "copy");
  EXPECT_EQ(check(model, single).result.end, RunEnd::completed);
}

TEST_F(Mistakes, MemoryOfAnotherLpWritten) {
  ScriptLp* victim = nullptr;
  at_each_event([](Context&, ScriptLp& lp) {
    if (!lp.memory.empty()) ++reinterpret_cast<ScriptLp*>(lp.memory[0])->memory[1];
  });
  model.on_start = [&victim, start = model.on_start](Context& context, ScriptLp& lp) {
    start(context, lp);
    lp.memory.assign(2, 0);
    if (context.self() == 2) victim = &lp;
    if (context.self() == 3) lp.memory[0] = reinterpret_cast<std::uint64_t>(victim);
  };
  EXPECT_TRUE(names(check(model), {"LP 2", "has changed since its last event",
                                   "pointers into it are held by LP 3"}));
}

/// A rollback of one event finds the other LP as it was; one of several finds it further on.
TEST_F(Mistakes, MemoryOfAnotherLpRead) {
  const ScriptLp* other = nullptr;
  at_each_event([](Context&, ScriptLp& lp) {
    lp.digest += reinterpret_cast<const ScriptLp*>(lp.memory[0])->digest;
  });
  model.on_start = [&other, start = model.on_start](Context& context, ScriptLp& lp) {
    start(context, lp);
    if (context.self() == 2) other = &lp;
    if (context.self() == 3) lp.memory.push_back(reinterpret_cast<std::uint64_t>(other));
  };
  EXPECT_TRUE(names(check(model), {"LP 3", "the LP's object", "after a rollback of several events",
                                   "it reads the memory of another LP"}));
}

// ---- Clocks and random devices
// -------------------------------------------------------------------

TEST_F(Mistakes, SteadyClock) {
  at_each_event([](Context&, ScriptLp& lp) {
    lp.digest +=
        static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  });
  EXPECT_TRUE(names(check(model), {"LP 3", "clock_gettime", "context.now()"}));
}

TEST_F(Mistakes, TimeInSeconds) {
  at_each_event(
      [](Context&, ScriptLp& lp) { lp.digest += static_cast<std::uint64_t>(std::time(nullptr)); });
  EXPECT_TRUE(names(check(model), {"LP 3", "it calls time,"}));
}

TEST_F(Mistakes, Rand) {
  at_each_event([](Context& context, ScriptLp&) {
    context.schedule(0, ticks(1 + std::rand() % 1000), Step{});
  });
  EXPECT_TRUE(names(check(model), {"LP 3", "its send 2", "it calls rand", "context.random()"}));
}

TEST_F(Mistakes, RandomDevice) {
  at_each_event([](Context&, ScriptLp& lp) { lp.digest += std::random_device()(); });
  EXPECT_TRUE(names(check(model), {"LP 3", "std::random_device"}));
}

TEST_F(Mistakes, AClockThatReachesNothingIsNoted) {
  at_each_event([](Context&, ScriptLp&) { opaque(std::time(nullptr)); });
  const Outcome outcome = check(model);
  ASSERT_EQ(outcome.result.end, RunEnd::completed) << outcome.result.fault;
  ASSERT_EQ(outcome.result.notes.size(), 2u);
  EXPECT_NE(outcome.result.notes[1].find("handlers call time"), std::string::npos);
}

// ---- State in the C library
// --------------------------------------------------------------------

/// Found whether anything depends on it or not: with one handler after the other it goes well.
TEST_F(Mistakes, FunctionsThatKeepState) {
  static volatile double number = 2.5;
  static const std::time_t kNow = 1'000'000;
  struct {
    const char* name;
    const char* instead;
    std::function<void()> call;
  } const cases[] = {
      {"strtok", "strtok_r",
       [] {
         char text[] = "one two";
         opaque(std::strtok(text, " "));
       }},
      {"asctime", "asctime_r",
       [] {
         std::tm parts{};
         opaque(std::asctime(&parts));
       }},
      {"ctime", "ctime_r", [] { opaque(std::ctime(&kNow)); }},
      {"gmtime", "gmtime_r", [] { opaque(std::gmtime(&kNow)); }},
      {"localtime", "localtime_r", [] { opaque(std::localtime(&kNow)); }},
      {"ecvt", "snprintf",
       [] {
         int point = 0, sign = 0;
         opaque(ecvt(number, 3, &point, &sign));
       }},
      {"l64a", "snprintf", [] { opaque(l64a(77)); }},
      {"srand", "context.random()", [] { std::srand(7); }},
      {"srandom", "context.random()", [] { srandom(7); }},
      {"srand48", "context.random()", [] { srand48(7); }},
      {"mblen", "mbrlen", [] { opaque(std::mblen("a", 1)); }},
      {"mbtowc", "mbrtowc",
       [] {
         wchar_t wide = 0;
         opaque(std::mbtowc(&wide, "a", 1));
       }},
      {"wctomb", "wcrtomb",
       [] {
         char text[16];
         opaque(std::wctomb(text, L'a'));
       }},
      {"mbrlen without", "mbstate_t", [] { opaque(std::mbrlen("a", 1, opaque(kNoState))); }},
      {"mbrtowc without", "mbstate_t",
       [] {
         wchar_t wide = 0;
         opaque(std::mbrtowc(&wide, "a", 1, opaque(kNoState)));
       }},
      {"wcrtomb without", "mbstate_t",
       [] {
         char text[16];
         opaque(std::wcrtomb(text, L'a', opaque(kNoState)));
       }},
      {"setlocale", "std::locale", [] { opaque(std::setlocale(LC_NUMERIC, "C")); }},
      {"setlocale or std::locale::global", "std::locale of",
       [] {
         const LeaksAllowed of_locales;
         std::locale::global(std::locale("C.UTF-8"));
       }},
      {"setenv", "in the LP", [] { setenv("ORRERY_TEST_VARIABLE", "1", 1); }},
      {"hcreate", "hsearch_r",
       [] {
         opaque(hcreate(10));
         hdestroy();
       }},
      {"tmpnam", "prepare()", [] { opaque(std::tmpnam(nullptr)); }},
      {"getpwnam", "prepare()", [] { opaque(getpwuid(0)); }},
      {"getgrnam", "prepare()", [] { opaque(getgrgid(0)); }},
      {"inet_ntoa", "inet_ntop", [] { opaque(inet_ntoa(in_addr{})); }},
  };
  for (const auto& one : cases) {
    at_each_event([&](Context&, ScriptLp&) { one.call(); });
    EXPECT_TRUE(names(check(model), {"LP 3, event Step at", "it calls " + std::string(one.name),
                                     "state of its own in the C library", one.instead}));
  }
}

TEST_F(Mistakes, NoMistakeTheirKinThatKeepNone) {
  at_each_event([](Context&, ScriptLp& lp) {
    char text[] = "one two";
    char* rest = nullptr;
    lp.digest += static_cast<std::uint64_t>(*strtok_r(text, " ", &rest));
    std::tm parts{};
    const auto now = static_cast<std::time_t>(lp.handled);
    lp.digest += static_cast<std::uint64_t>(gmtime_r(&now, &parts)->tm_min);
    wchar_t wide = 0;
    std::mbstate_t state{};
    lp.digest += std::mbrtowc(&wide, "a", 1, &state);
    lp.digest += std::strlen(std::setlocale(LC_ALL, nullptr));
    lp.digest += std::strlen(std::strerror(static_cast<int>(lp.handled % 200)));
    lp.digest += std::getenv("ORRERY_NO_SUCH_VARIABLE") == nullptr ? 1 : 0;
  });
  EXPECT_EQ(check(model).result.end, RunEnd::completed) << check(model).result.fault;
}

TEST_F(Mistakes, TheSignOfTheGammaFunctionIsNoted) {
  at_each_event([](Context&, ScriptLp& lp) {
    volatile double x = static_cast<double>(lp.handled) + 0.5;
    lp.digest += static_cast<std::uint64_t>(std::lgamma(x) * 16);
  });
  const Outcome outcome = check(model);
  ASSERT_EQ(outcome.result.end, RunEnd::completed) << outcome.result.fault;
  ASSERT_EQ(outcome.result.notes.size(), 2u);
  EXPECT_NE(outcome.result.notes[1].find("lgamma (which sets signgam"), std::string::npos);
}

TEST_F(Mistakes, FloatingPointFlagsOfOthers) {
  at_each_event([](Context&, ScriptLp& lp) {
    lp.digest += static_cast<std::uint64_t>(std::fetestexcept(FE_OVERFLOW));
  });
  EXPECT_TRUE(
      names(check(model), {"LP 3", "the LP's object", "flags of floating-point exceptions"}));
}

TEST_F(Mistakes, ErrnoOfOthers) {
  at_each_event(
      [](Context&, ScriptLp& lp) { lp.digest += static_cast<std::uint64_t>(*opaque(&errno)); });
  EXPECT_TRUE(names(check(model), {"LP 3", "the LP's object", "errno"}));
}

/// It harms nobody, but its author may expect it to last.
TEST_F(Mistakes, ARoundingModeThatIsLeftIsNoted) {
  at_each_event([](Context& context, ScriptLp&) {
    if (context.now().ticks() % 5 == 0) std::fesetround(FE_UPWARD);
  });
  const Outcome outcome = check(model);
  ASSERT_EQ(outcome.result.end, RunEnd::completed) << outcome.result.fault;
  ASSERT_EQ(outcome.result.notes.size(), 2u);
  EXPECT_TRUE(outcome.result.notes[1].starts_with("LP 3, event Step at "))
      << outcome.result.notes[1];
  EXPECT_NE(outcome.result.notes[1].find("leaves the rounding mode upward"), std::string::npos);
}

// ---- Addresses
// -----------------------------------------------------------------------------------

TEST_F(Mistakes, AddressInASend) {
  at_each_event([](Context& context, ScriptLp& lp) {
    const auto address = reinterpret_cast<std::uintptr_t>(&lp);
    context.schedule(0, ticks(1 + static_cast<std::int64_t>(address / 16 % 1009)), Step{});
  });
  EXPECT_TRUE(
      names(check(model), {"LP 3", "its send 2", "at other addresses", "pointers that are keys"}));
}

TEST_F(Mistakes, AddressInASendThatOnlyALongerRunExecutes) {
  at_each_event([this](Context& context, ScriptLp& lp) {
    const auto address = reinterpret_cast<std::uintptr_t>(&lp);
    const auto beyond = static_cast<std::int64_t>(address / 16 % 1009);
    context.schedule(0, model.default_horizon() - Time::zero() + ticks(beyond), Step{});
  });
  EXPECT_TRUE(names(check(model), {"LP 3", "its send 2", "at other addresses"}));
}

TEST_F(Mistakes, AddressInTheFinalState) {
  script_walks(model);
  model.on_finish = [](FinalContext& context, const ScriptLp& lp) {
    context.state(reinterpret_cast<std::uintptr_t>(&lp));
  };
  EXPECT_TRUE(names(check(model), {"finish()", "at other addresses"}));
}

/// Nobody sees it before the end.
TEST_F(Mistakes, AddressInAMember) {
  at_each_event([](Context& context, ScriptLp& lp) {
    if (context.now().ticks() >= 2000) lp.digest += reinterpret_cast<std::uintptr_t>(&lp) / 16;
  });
  EXPECT_TRUE(
      names(check(model), {"LP 3", "finish()", "the LP's object", "where it is and",
                           "in the twin, since event Step at 2", "pointers that are keys"}));
}

struct Visit {
  std::uint32_t number;
};

/// Keeps nodes in a map by their addresses and sends in the order of the map.
class AddressKeyLp final : public LogicalProcess<AddressKeyLp, Visit> {
 public:
  void start(Context& context) override { context.schedule(0, ticks(1), Visit{0}); }
  void handle(Context& context, const Visit& visit) {
    nodes_.push_back(std::make_unique<std::uint32_t>(visit.number));
    order_[nodes_.back().get()] = visit.number;
    for (const auto& [node, number] : order_) context.schedule(0, ticks(1000), Visit{number});
    context.schedule(0, ticks(1), Visit{visit.number + 1});
  }

 private:
  std::vector<std::unique_ptr<std::uint32_t>> nodes_;
  std::map<void*, std::uint32_t> order_;
};

template <class Lp>
class OneClassModel final : public Model {
 public:
  explicit OneClassModel(LpId lps = 1, std::int64_t horizon = 100) : lps_(lps), horizon_(horizon) {}
  std::uint64_t lp_count() const override { return lps_; }
  Time default_horizon() const override { return Time::from_ticks(horizon_); }
  std::unique_ptr<LogicalProcessBase> create(LpId) const override { return std::make_unique<Lp>(); }

 private:
  const LpId lps_;
  const std::int64_t horizon_;
};

TEST(Checker, FindsAMapOrderedByAddresses) {
  EXPECT_TRUE(names(check(OneClassModel<AddressKeyLp>()),
                    {"LP 0", "AddressKeyLp", "carries", "at other addresses", "keys of a map"}));
}

// ---- What nobody has initialised
// -----------------------------------------------------------------

TEST_F(Mistakes, UninitialisedHeapMemory) {
  at_each_event([](Context&, ScriptLp& lp) {
    auto* const words = opaque(static_cast<std::uint64_t*>(std::malloc(32)));
    lp.digest += words[2];
    std::free(words);
  });
  EXPECT_TRUE(names(check(model), {"LP 3", "the LP's object", "a member without initialiser"}));
}

/// Allocated by one event, read by a later one.
TEST_F(Mistakes, UninitialisedMemoryOfAnEarlierEvent) {
  at_each_event([](Context&, ScriptLp& lp) {
    if (lp.memory.empty())
      lp.memory.push_back(reinterpret_cast<std::uint64_t>(opaque(std::malloc(32))));
    else if (lp.handled > 30)
      lp.digest += reinterpret_cast<std::uint64_t*>(lp.memory[0])[1] & 1;
  });
  EXPECT_TRUE(names(check(model), {"LP 3", "the LP's object", "initialis"}));
}

/// A bit that nobody initialised, of a word of which others are used.
unsigned stray_bit(unsigned bit) {
  auto* const word = opaque(static_cast<unsigned char*>(std::malloc(8)));
  const unsigned value = *word >> bit & 1u;
  std::free(word);
  return value;
}

/// Single bits look like the pattern every second time: all that is made of them is found all the
/// same, at the event or where it reaches what the LP reports.
TEST_F(Mistakes, ABitThatNobodyInitialisedIsUsed) {
  if (kAddressSanitizer) GTEST_SKIP() << "the sanitizer fills memory itself";
  constexpr unsigned kStep = kThreadSanitizer ? 5 : 1;  // each check takes seconds there
  for (unsigned bit = 0; bit < 8; bit += kStep) {
    SCOPED_TRACE(bit);
    for (unsigned to = 0; to < 8; to += kStep) {
      at_each_event([=](Context&, ScriptLp& lp) {
        lp.memory.resize(1);
        lp.memory[0] |= std::uint64_t{stray_bit(bit)} << to;
      });
      EXPECT_TRUE(names(check(model), {"LP 3"})) << to;
    }
    at_each_event([=](Context&, ScriptLp& lp) { lp.digest += stray_bit(bit); });
    EXPECT_TRUE(names(check(model), {"LP 3"}));
    at_each_event([=](Context& context, ScriptLp&) {
      if (stray_bit(bit) != 0) context.schedule(2, ticks(3), Step{});
    });
    EXPECT_TRUE(names(check(model), {"LP 3, event Step", "sent", "initialise"}));
    at_each_event([this, bit](Context& context, ScriptLp&) {
      if (stray_bit(bit) != 0) context.emit(model.table, 1, 1.0);
    });
    EXPECT_TRUE(names(check(model), {"LP 3, event Step", "its row 1", "initialise"}));
  }
}

TEST_F(Mistakes, BitsOfAVectorBehindItsEnd) {
  at_each_event([](Context&, ScriptLp& lp) {
    std::vector<bool> bits;
    bits.push_back(true);  // sets a bit of a word
    lp.digest += bits[opaque(std::size_t{6})] ? 3 : 1;
  });
  EXPECT_TRUE(names(check(model), {"LP 3", "the LP's object", "initialiser"}));
}

std::uint64_t calls_so_far = 0;

/// Into bits that were uninitialised before.
TEST_F(Mistakes, BitsFromElsewhereInAVector) {
  at_each_event([](Context&, ScriptLp& lp) {
    // No pattern: how often the checker has the same calls executed must not matter.
    lp.bits.push_back(++calls_so_far * 0x9E3779B97F4A7C15u >> 63 != 0);
  });
  EXPECT_TRUE(names(check(model), {"LP 3", "calls_so_far"}));
}

TEST_F(Mistakes, ReadAfterFree) {
  if (kAddressSanitizer) GTEST_SKIP() << "the sanitizer ends the process at the read";
  at_each_event([](Context&, ScriptLp& lp) {
    auto* const words = opaque(new std::uint64_t[4]{1, 2, 3, 4});
    delete[] words;
    lp.digest += *opaque(words + 1);
  });
  EXPECT_TRUE(names(check(model), {"LP 3", "after it was freed"}));
}

struct Padded {
  std::uint8_t small;
  std::uint64_t large;
};
static_assert(!event_payload_is_hashed<Padded>);

/// Sends structs whose padding nobody writes; `Reader` says what the receiver does with it.
template <class Reader>
class PaddedLp final : public LogicalProcess<PaddedLp<Reader>, Padded> {
 public:
  void start(Context& context) override { send_on(context, 1); }
  void handle(Context& context, const Padded& padded) {
    last_ = padded;  // copies the padding, which is allowed
    digest_ += Reader::read(padded);
    send_on(context, padded.large + 1);
  }
  void finish(FinalContext& context) override { context.state(digest_); }

 private:
  [[gnu::noinline]] static void set(Padded& padded, std::uint64_t value) {
    padded.small = static_cast<std::uint8_t>(value);
    padded.large = value;
  }
  void send_on(Context& context, std::uint64_t value) {
    Padded padded;
    opaque (&set)(padded, value);
    context.schedule((context.self() + 1) % context.lp_count(), ticks(3), padded);
  }
  Padded last_{};
  std::uint64_t digest_ = 0;
};

struct BytesReader {
  static std::uint64_t read(const Padded& padded) {
    const auto* bytes = opaque(reinterpret_cast<const std::uint8_t*>(&padded));
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < sizeof padded; ++i) sum = sum * 31 + bytes[i];
    return sum;
  }
};
struct MembersReader {
  static std::uint64_t read(const Padded& padded) { return padded.small + 31 * padded.large; }
};

TEST(Checker, FindsPaddingOfAPayloadInTheState) {
  if (kAddressSanitizer)
    GTEST_SKIP() << "the sanitizers' calls leave traces of their own in padding";
  EXPECT_TRUE(names(check(OneClassModel<PaddedLp<BytesReader>>(4)),
                    {"event Padded", "bytes of the event's payload", "did not initialise",
                     "byte 1 is the first"}));
}

TEST(Checker, AllowsPaddingThatIsCopied) {
  if (kAddressSanitizer)
    GTEST_SKIP() << "the sanitizers' calls leave traces of their own in padding";
  const OneClassModel<PaddedLp<MembersReader>> model(4, 3000);
  const Outcome checked = check(model);
  ASSERT_EQ(checked.result.end, RunEnd::completed) << checked.result.fault;
  EXPECT_EQ(checked.result.fingerprint, run_model(model, "sequential", {}).result.fingerprint);
}

struct Pair {
  std::uint32_t set, forgotten;
};

class ForgetfulLp final : public LogicalProcess<ForgetfulLp, Pair> {
 public:
  void start(Context& context) override { handle(context, {}); }
  void handle(Context& context, const Pair&) {
    Pair pair;
    opaque (&fill)(pair);
    context.schedule(context.self(), ticks(2), pair);
  }

 private:
  [[gnu::noinline]] static void fill(Pair& pair) { pair.set = 7; }
};

TEST(Checker, FindsAMemberOfAnEventThatWasForgotten) {
  if (kThreadSanitizer)
    GTEST_SKIP() << "its calls for atomics before the handler leave traces of their own beneath it";
  EXPECT_TRUE(names(check(OneClassModel<ForgetfulLp>()),
                    {"start of the run", "event Pair", "(at byte 4 of 8)",
                     kAddressSanitizer ? "likely cause" : "on the stack"}));
}

TEST_F(Mistakes, UninitialisedLocalVariable) {
  if (kAddressSanitizer)
    GTEST_SKIP() << "the sanitizer's calls before the handler leave traces of their own beneath it";
  struct Sum {
    [[gnu::noinline]] static std::uint64_t of(const std::uint64_t* words) {
      return opaque(words)[0] + opaque(words)[3];
    }
  };
  at_each_event([](Context&, ScriptLp& lp) {
    std::uint64_t words[64];
    lp.digest += opaque(&Sum::of)(opaque(&words[20]));
  });
  EXPECT_TRUE(names(check(model), {"LP 3", "the LP's object", "a local variable"}));
}

// ---- Misuse of the heap
// --------------------------------------------------------------------------

TEST_F(Mistakes, OverrunIntoTheSlack) {
  if (kAddressSanitizer) GTEST_SKIP() << "the sanitizer ends the process at the write";
  at_each_event([](Context&, ScriptLp&) {
    auto* const text = opaque(new char[20]);
    *opaque(text + 20) = 'x';
    delete[] text;
  });
  EXPECT_TRUE(names(check(model), {"LP 3", "beyond the end of an allocation of 20 bytes",
                                   "made in orrery::", "offset 20 is now 78"}));
}

TEST_F(Mistakes, OverrunIntoTheNextChunk) {
  if (kAddressSanitizer) GTEST_SKIP() << "the sanitizer ends the process at the write";
  at_each_event([](Context&, ScriptLp& lp) {
    if (!lp.memory.empty()) return;
    for (int i = 0; i < 3; ++i)
      lp.memory.push_back(reinterpret_cast<std::uint64_t>(opaque(new char[208])));
    *opaque(reinterpret_cast<char*>(lp.memory[2]) + 230) = 'x';
  });
  EXPECT_TRUE(names(check(model), {"LP 3", "beyond the end of an allocation of 208 bytes",
                                   "offset 230 is now 78"}));
}

TEST_F(Mistakes, WriteAfterFree) {
  if (kAddressSanitizer) GTEST_SKIP() << "the sanitizer ends the process at the write";
  at_each_event([](Context&, ScriptLp&) {
    auto* const words = opaque(new std::uint64_t[6]{});
    delete[] words;
    *opaque(words + 2) = 0x2a;
  });
  EXPECT_TRUE(names(check(model), {"LP 3", "memory that it had freed",
                                   "byte 16 of an allocation of 48 bytes", "is now 2a"}));
}

TEST_F(Mistakes, DoubleFree) {
  at_each_event([](Context&, ScriptLp&) {
    auto* const word = opaque(new std::uint64_t);
    delete word;
    delete opaque(word);
  });
  EXPECT_TRUE(names(check(model), {"LP 3", "misused its memory", "freed twice"}));
}

TEST_F(Mistakes, FreeOfAnotherLpsMemory) {
  std::vector<char*> texts(8);
  at_each_event([&texts](Context&, ScriptLp&) { delete[] texts[2]; });
  model.on_start = [&texts, start = model.on_start](Context& context, ScriptLp& lp) {
    start(context, lp);
    texts[context.self()] = opaque(new char[100]);
  };
  EXPECT_TRUE(names(check(model), {"LP 3", "belongs to another LP"}));
}

/// Executed again it uses what the rollback has taken from it.
TEST_F(Mistakes, CrashWhenExecutedAgain) {
  if (kAddressSanitizer) GTEST_SKIP() << "the sanitizer has handlers of its own";
  static std::uint64_t** kept = nullptr;
  at_each_event([](Context&, ScriptLp& lp) {
    if (kept == nullptr) {
      kept = opaque(new std::uint64_t*);
      *kept = &lp.digest;
    }
    ++**opaque(kept);
  });
  EXPECT_EXIT(static_cast<void>(check(model)), ::testing::ExitedWithCode(3),
              "orrery: model fault in LP 3, event Step at .*a crash .*executed again");
}

// ---- Making LPs
// ----------------------------------------------------------------------------------

struct CountedLp final : LogicalProcess<CountedLp, Visit> {
  static inline std::uint32_t made = 0;
  std::uint32_t number = ++made;
  void handle(Context&, const Visit&) {}
};

TEST(Checker, FindsConstructorsThatCount) {
  EXPECT_TRUE(names(check(OneClassModel<CountedLp>(3)),
                    {"LP 0, start of the run", "changes the variable", "CountedLp::made"}));
}

// ---- Correct models
// ------------------------------------------------------------------------------

void expect_clean(const Model& model, RunOptions options, const std::string& what) {
  const Outcome expected = run_model(model, "sequential", options);
  const Outcome checked = check(model, options);
  ASSERT_EQ(checked.result.end, expected.result.end) << what << ": " << checked.result.fault;
  expect_same(expected, checked, what);
  if (checked.result.end == RunEnd::completed) {
    ASSERT_FALSE(checked.result.notes.empty());
    EXPECT_NE(checked.result.notes[0].find("no difference"), std::string::npos);
    EXPECT_EQ(statistic(checked.result, "one_offs"), 0) << what;
  }
}

TEST(Checker, RandomModelsPass) {
  for (std::uint64_t seed = 2; seed <= 3; ++seed) {
    const RandomModel model({.shape = seed,
                             .lps = static_cast<LpId>(8 + seed * 37 % 60),
                             .grain_ticks = seed % 3 == 0 ? 1 : 10,
                             .horizon = Duration::from_ticks(2'000)});
    for (const char* checkpoint : {"auto", "copy", "periodic:20"}) {
      RunOptions options;
      options.seed = seed;
      options.set(checkpoint::kCheckpoint, checkpoint);
      expect_clean(model, options, std::string(checkpoint) + ", seed " + std::to_string(seed));
    }
  }
}

TEST(Checker, AFaultIsThatOfTheSequentialEngine) {
  const RandomModel model(
      {.shape = 2, .horizon = Duration::from_ticks(50'000), .fault_at_event = 20});
  expect_clean(model, {}, "fault");
}

TEST_F(Mistakes, NoMistakeWhatOnlyLooksLikeOne) {
  at_each_event([](Context& context, ScriptLp& lp) {
    static const std::string kInitialisedHere(100, 'x');  // once is allowed
    lp.digest += kInitialisedHere.size();
    lp.memory.reserve(lp.memory.size() + 100);  // capacity that nobody initialises
    lp.memory.push_back(lp.handled);
    struct Flags {
      unsigned low : 3;
      unsigned high : 2;
    };
    auto* const flags = new Flags[3];  // bits that nobody initialises
    flags[1].low = 5;
    lp.digest += flags[1].low;
    delete[] flags;
    std::unordered_map<const void*, int> by_address;  // looked up, never iterated over
    by_address[&lp] = 1;
    lp.digest += static_cast<std::uint64_t>(by_address.at(&lp));
    if (context.random().bernoulli(0.1)) lp.memory.clear();
  });
  expect_clean(model, {}, "looks like mistakes");
}

/// Words of which only some bits are ever written.
TEST_F(Mistakes, NoMistakeWordsThatAreInitialisedInPart) {
  at_each_event([](Context& context, ScriptLp& lp) {
    Random& random = context.random();
    lp.bits.push_back(random.bernoulli(0.5));
    if (lp.handled % 3 == 0) lp.bits.flip();
    if (lp.handled % 5 == 0) {
      const std::vector<bool> copy = lp.bits;
      lp.bits.insert(lp.bits.begin() + 1, copy.begin(), copy.end());
    }
    if (lp.handled % 7 == 0) lp.bits.erase(lp.bits.begin(), lp.bits.begin() + 1);
    if (lp.bits.size() > 100) lp.bits.resize(3);
    if (lp.handled % 11 == 0) lp.bits = std::vector<bool>(lp.bits);
    lp.digest += static_cast<std::uint64_t>(std::count(lp.bits.begin(), lp.bits.end(), true));
    struct Flags {
      unsigned char low : 6;
    };
    auto* const flags = new Flags[3];  // two bits of each byte are nobody's
    flags[1].low = static_cast<unsigned char>(random.below(64));
    lp.memory.assign(1, 0);
    std::memcpy(lp.memory.data(), flags + 1, 1);  // carried into what was initialised
    lp.digest += flags[1].low;
    delete[] flags;
    lp.memory.clear();
  });
  expect_clean(model, {}, "partly initialised words");
}

struct FewBits {
  unsigned char used : 7;
};

/// Sends bytes with a bit that nobody writes.
class FewBitsLp final : public LogicalProcess<FewBitsLp, FewBits> {
 public:
  void start(Context& context) override { send_on(context, 1); }
  void handle(Context& context, const FewBits& bits) {
    last_ = bits;
    digest_ = digest_ * 5 + bits.used;
    send_on(context, digest_);
  }
  void finish(FinalContext& context) override { context.state(digest_); }

 private:
  [[gnu::noinline]] static void set(FewBits& bits, std::uint64_t value) { bits.used = value & 127; }
  void send_on(Context& context, std::uint64_t value) {
    FewBits bits;
    opaque (&set)(bits, value);
    context.schedule((context.self() + 1) % context.lp_count(), ticks(3), bits);
  }
  FewBits last_{};
  std::uint64_t digest_ = 0;
};

TEST(Checker, AllowsBitsOfAPayloadThatNobodyUses) {
  if (kAddressSanitizer)
    GTEST_SKIP() << "the sanitizers' calls leave traces of their own in padding";
  expect_clean(OneClassModel<FewBitsLp>(4, 1000), {}, "bits of a payload");
}

/// More than a block: large chunks, grown and given back.
TEST_F(Mistakes, NoMistakeLargeAllocations) {
  at_each_event([](Context& context, ScriptLp& lp) {
    lp.memory.resize(context.random().below(40'000), lp.handled);
    if (lp.handled % 3 == 0) lp.memory = std::vector<std::uint64_t>();
  });
  expect_clean(model, {}, "large allocations");
}

TEST(Checker, RefusesWhatHasNoMeaning) {
  const ScriptModel model(2);
  const EngineInfo& checker = find_engine("checker");
  RunOptions workers, window, period, memory;
  workers.workers = 4;
  window.set(timewarp::kWindow, 5);
  period.set(timewarp::kGvtPeriod, 5);
  memory.memory_bytes = 1 << 30;
  for (const RunOptions& options : {workers, window, period, memory})
    EXPECT_THROW(note_unused_options(checker, options), UsageError);
  RunOptions many;
  many.set(checkpoint::kCheckpoint, "periodic:65");
  EXPECT_THROW(check(model, many), UsageError);
  RunOptions one;
  one.workers = 1;
  EXPECT_EQ(note_unused_options(checker, one), "");
  EXPECT_EQ(check(model, one).result.end, RunEnd::completed);
}

TEST(Checker, CreateMayRefuseItsInput) {
  ScriptModel model(2);
  model.on_create = [](LpId id) {
    if (id == 1) throw UsageError("map.txt, line 7: a number is expected");
  };
  try {
    check(model);
    FAIL() << "a UsageError was expected";
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "map.txt, line 7: a number is expected");
  }
}

TEST(Checker, StopsWhenAsked) {
  ScriptModel model(4, 1'000'000'000);
  script_walks(model);
  RunControl control;
  control.stop_requested = true;
  RunOptions options;
  options.until = model.default_horizon();
  const RunResult result = find_engine("checker").make()->run(model, options, control);
  EXPECT_EQ(result.end, RunEnd::interrupted);
  EXPECT_GT(result.committed, 0u);
}

TEST(Checker, CountsWhatItDid) {
  const RandomModel model({.shape = 1, .lps = 20, .horizon = Duration::from_ticks(2'000)});
  const Outcome outcome = check(model);
  const auto events = static_cast<double>(outcome.result.committed);
  EXPECT_GE(statistic(outcome.result, "rollbacks"), events);
  EXPECT_GE(statistic(outcome.result, "executions"), 3 * events);
  EXPECT_GT(statistic(outcome.result, "long_rollbacks"), events / 100);
  EXPECT_GT(statistic(outcome.result, "compared"), events);
  EXPECT_EQ(statistic(outcome.result, "static_checks") > 0, !kAddressSanitizer);
}

/// What each kind of checkpoint has to show; reverse handlers: tests/engine/reverse_test.cpp.
TEST(Checker, EachStrategyIsThatOfTimeWarp) {
  const RandomModel model({.shape = 1, .lps = 20, .horizon = Duration::from_ticks(2'000)});
  struct {
    const char* checkpoint;
    bool small, images, deltas;
    const char* note;
  } const cases[] = {{"copy", true, false, false, "strategies: copy"},
                     {"incremental", false, false, true, "strategies: incremental"},
                     {"periodic:4", true, true, false, "strategies: copy, periodic"},
                     {"auto", true, true, true, "strategies: copy, incremental, periodic"}};
  for (const auto& expected : cases) {
    SCOPED_TRACE(expected.checkpoint);
    RunOptions options;
    options.set(checkpoint::kCheckpoint, expected.checkpoint);
    const RunResult result = check(model, options).result;
    const double events = static_cast<double>(result.committed),
                 images = statistic(result, "checkpoint_images"),
                 deltas = statistic(result, "checkpoint_deltas"),
                 // create() is rolled back by copies whatever was asked for.
        small = statistic(result, "checkpoints") - images - deltas - 20;
    EXPECT_GE(small, expected.small ? events / 5 : 0);
    EXPECT_EQ(small > 20, expected.small);
    EXPECT_GE(images, expected.images ? events / 5 : 0);
    EXPECT_EQ(images > 0, expected.images);
    EXPECT_GE(deltas, expected.deltas ? events / 5 : 0);
    EXPECT_EQ(deltas > 0, expected.deltas);
    EXPECT_EQ(statistic(result, "checkpoint_reversals"), 0);
    ASSERT_FALSE(result.notes.empty());
    EXPECT_TRUE(result.notes[0].ends_with(expected.note)) << result.notes[0];
  }
}

}  // namespace
}  // namespace orrery::testing
