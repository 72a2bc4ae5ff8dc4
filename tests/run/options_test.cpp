// SPDX-License-Identifier: Apache-2.0
//
// Declarations of options: what is derived from one, and what all of them have in common. The last
// tests look at every option that is linked in, so a new one is tested when it is declared.
#include "run/options/options.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "checkpoint/options.h"
#include "engine/timewarp/settings.h"
#include "orrery/error.h"
#include "run/engine.h"
#include "run/options/option_forms.h"
#include "run/options/retired_option.h"

namespace orrery {
namespace {

constexpr double kMillisecond = 1e-3;
constexpr OptionGroup kGroup{.rank = 9, .heading = "Of this test"};

OptionDeclaration named(const std::string& name) {
  return {.name = name, .type = "X", .help = "Help", .group = kGroup, .field = name + "_field"};
}

// In an order that is not alphabetical.
const Option<std::uint64_t> kCount{named("test-n"), 7, option_forms::count(2, 90)};
const Option<std::uint64_t> kBytes{named("test-bytes"), 2048,
                                   option_forms::bytes(64, 1u << 20, "such as 4KiB")};
const Option<std::uint64_t> kLeast{named("test-least"), 1u << 20,
                                   option_forms::bytes(1u << 20, {}, "such as 4GiB")};
const Option<std::int64_t> kTime{named("test-time"), 0, option_forms::duration_or_auto()};
const Option<std::int64_t> kWallTime{named("test-wall"), 0, option_forms::duration_or_auto(1e-6)};
const Option<double> kShare{named("test-share"), -1, option_forms::share_or_auto()};
const Option<std::string> kChoice{named("test-choice"), "push",
                                  option_forms::choice({"push", "pull", "throw"})};
const Option<bool> kSwitch{named("test-switch"), true, option_forms::on_or_off()};
const Option<std::int64_t> kInternal{"test-internal", 11};

template <class T>
T read(const Option<T>& option, const std::string& text) {
  RunOptions options;
  option.read(text, kMillisecond, options);
  return options.get(option);
}

std::string refusal(const OptionBase& option, const std::string& text) {
  RunOptions options;
  try {
    option.read(text, kMillisecond, options);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

const OptionBase& find(const std::string& name) {
  for (const OptionBase* option : all_options())
    if (option->name() == name) return *option;
  throw std::runtime_error("no option " + name);
}

OptionValue reported(const OptionBase& option, const RunOptions& options) {
  return option.report(options, kMillisecond).front().second;
}

TEST(Option, HasItsDefaultUntilItIsSet) {
  RunOptions options;
  EXPECT_EQ(options.get(kCount), 7u);
  EXPECT_FALSE(kCount.asked(options));
  options.set(kCount, 8);
  RunOptions copy = options;
  copy.set(kCount, 9);
  EXPECT_EQ(options.get(kCount), 8u);
  EXPECT_EQ(copy.get(kCount), 9u);
  EXPECT_TRUE(kCount.asked(copy));
  copy.set(kCount, 7);
  EXPECT_FALSE(kCount.asked(copy)) << "the default asks for nothing";
}

TEST(Option, ReadsWhatItsFormSays) {
  EXPECT_EQ(read(kCount, "90"), 90u);
  EXPECT_EQ(read(kBytes, "4KiB"), 4096u);
  EXPECT_EQ(read(kTime, "1.5s"), 1500);
  EXPECT_EQ(read(kTime, "auto"), 0);
  EXPECT_EQ(read(kWallTime, "3ms"), 3000) << "whatever the model's tick is";
  EXPECT_EQ(read(kShare, "0.25"), 0.25);
  EXPECT_LT(read(kShare, "auto"), 0);
  EXPECT_EQ(read(kChoice, "pull"), "pull");
  EXPECT_FALSE(read(kSwitch, "off"));
}

TEST(Option, RefusesInSentences) {
  EXPECT_EQ(refusal(kCount, "91"), "--test-n needs a whole number from 2 to 90, not '91'");
  EXPECT_EQ(refusal(kCount, "7x"), "--test-n needs a whole number from 2 to 90, not '7x'");
  EXPECT_EQ(refusal(kBytes, "63"),
            "--test-bytes needs a size from 64 to 1MiB such as 4KiB, not '63'");
  EXPECT_EQ(refusal(kBytes, "2MiB"),
            "--test-bytes needs a size from 64 to 1MiB such as 4KiB, not '2MiB'");
  EXPECT_EQ(refusal(kLeast, "lots"),
            "--test-least needs a size of at least 1MiB such as 4GiB, not 'lots'");
  EXPECT_EQ(
      refusal(kTime, "-1s"),
      "--test-time needs a duration above 0 such as 250ms, 100s, 15min or 2h (units: d, h, min, "
      "s, ms, us, ns or ticks), or 'auto', not '-1s'");
  for (const char* wrong : {"1.01", "-0.1", "nan", "0.5x", ""})
    EXPECT_EQ(refusal(kShare, wrong),
              "--test-share needs a number from 0 to 1 such as 0.75, or 'auto', not '" +
                  std::string(wrong) + "'");
  EXPECT_EQ(refusal(kChoice, "pul"),
            "--test-choice can be push, pull or throw, not 'pul'; did you mean 'pull'?");
  EXPECT_EQ(refusal(kSwitch, "maybe"), "--test-switch can be on or off, not 'maybe'");
}

TEST(Option, TakesNoValueThatTheCommandLineWouldRefuse) {
  RunOptions options;
  EXPECT_THROW(options.set(kCount, 1), UsageError);
  EXPECT_THROW(options.set(kShare, 1.5), UsageError);
  EXPECT_THROW(options.set(kTime, -3), UsageError);
  EXPECT_THROW(options.set(kChoice, "drop"), UsageError);
  EXPECT_EQ(options.get(kCount), 7u);
  options.set(kTime, 123'456'789'012);
  options.set(kWallTime, 4'001);
  EXPECT_EQ(options.get(kTime), 123'456'789'012);
}

TEST(Option, IsReportedUnderItsField) {
  RunOptions options;
  options.set(kCount, 8);
  EXPECT_EQ(kCount.report(options, kMillisecond).front().first, "test-n_field");
  EXPECT_EQ(reported(kCount, options), OptionValue(std::uint64_t{8}));
  EXPECT_EQ(reported(kShare, options), OptionValue(std::string("auto")));
  options.set(kShare, 0.5);
  EXPECT_EQ(reported(kShare, options), OptionValue(0.5));
  EXPECT_EQ(reported(kSwitch, options), OptionValue(true));
}

TEST(Option, HelpSaysChoicesAndDefault) {
  EXPECT_EQ(kChoice.help(), "Help: push, pull, throw");
  EXPECT_EQ(kChoice.default_text(), "push");
  EXPECT_EQ(kBytes.default_text(), "2KiB");
  EXPECT_EQ(kTime.default_text(), "auto");
  EXPECT_EQ(kSwitch.default_text(), "on");
}

TEST(Option, InternalOnesAreNotOffered) {
  RunOptions options;
  EXPECT_EQ(options.get(kInternal), 11);
  options.set(kInternal, -1);
  EXPECT_EQ(options.get(kInternal), -1);
  for (const OptionBase* option : all_options()) EXPECT_NE(option, &kInternal);
}

TEST(CommonOptions, AreMembers) {
  RunOptions options;
  find("seed").read("9", kMillisecond, options);
  find("until").read("2s", kMillisecond, options);
  find("workers").read("3", kMillisecond, options);
  find("pending").read("heap", kMillisecond, options);
  find("memory").read("2MiB", kMillisecond, options);
  find("no-bind").read("true", kMillisecond, options);
  find("livelock").read("50", kMillisecond, options);
  EXPECT_EQ(options.seed, 9u);
  EXPECT_EQ(options.until, Time::from_ticks(2000));
  EXPECT_EQ(options.workers, 3u);
  EXPECT_EQ(options.pending, "heap");
  EXPECT_EQ(options.memory_bytes, 2u << 20);
  EXPECT_FALSE(options.bind);
  EXPECT_EQ(options.livelock_microsteps, 50u);
  find("no-bind").read("false", kMillisecond, options);
  EXPECT_TRUE(options.bind);
  const auto horizon = find("until").report(options, kMillisecond);
  ASSERT_EQ(horizon.size(), 2u);
  EXPECT_EQ(horizon[0], OptionBase::Field("until", std::string("2 s")));
  EXPECT_EQ(horizon[1], OptionBase::Field("until_ticks", std::int64_t{2000}));
}

TEST(CommonOptions, RefuseWhatCannotBe) {
  EXPECT_EQ(refusal(find("workers"), "1025"),
            "--workers needs a whole number from 1 to 1024, not '1025'");
  EXPECT_NE(refusal(find("pending"), "hep").find("did you mean 'heap'?"), std::string::npos);
  EXPECT_NE(refusal(find("until"), "0s").find("--until needs a duration above 0"),
            std::string::npos);
  EXPECT_NE(refusal(find("memory"), "1KiB").find("of at least 1MiB"), std::string::npos);
  EXPECT_NE(refusal(find("livelock"), "0").find("from 1 to"), std::string::npos);
}

TEST(AllOptions, AreSortedByGroupAndThenAsDeclared) {
  const OptionList& all = all_options();
  for (std::size_t i = 1; i < all.size(); ++i) {
    const OptionGroup& a = all[i - 1]->declaration().group;
    const OptionGroup& b = all[i]->declaration().group;
    EXPECT_LE(std::tie(a.rank, a.heading), std::tie(b.rank, b.heading)) << all[i]->name();
  }
  const auto first = std::find(all.begin(), all.end(), &kCount);
  ASSERT_NE(first, all.end());
  EXPECT_EQ(first[1], &kBytes);
  EXPECT_EQ(first[2], &kLeast);
}

TEST(AllOptions, HaveNamesOfTheirOwnAndAreExplained) {
  std::set<std::string> names, fields;
  for (const OptionBase* option : all_options()) {
    EXPECT_TRUE(names.insert(option->name()).second) << option->name();
    EXPECT_FALSE(option->help().empty()) << option->name();
    for (const auto& [field, value] : option->report(RunOptions(), kMillisecond))
      EXPECT_TRUE(fields.insert(field).second) << field;
  }
}

TEST(AllOptions, ReadTheirOwnDefaults) {
  for (const OptionBase* option : all_options()) {
    if (!option->takes_value() || !option->declaration().default_words.empty()) continue;
    if (option->name() == "until") continue;  // the model's
    RunOptions options;
    option->read(option->default_text(), kMillisecond, options);
    EXPECT_FALSE(option->asked(options)) << option->name();
    EXPECT_EQ(option->report(options, kMillisecond), option->report(RunOptions(), kMillisecond));
  }
}

TEST(AllOptions, AreHonouredBySomeEngine) {
  for (const OptionBase* option : all_options()) {
    if (option->declaration().group.heading == kGroup.heading || as_retired(option)) continue;
    EXPECT_TRUE(std::any_of(engines().begin(), engines().end(), [&](const EngineInfo& engine) {
      return engine.honours(*option);
    })) << option->name();
  }
}

TEST(UnusedOptions, AreNamedInOneSentence) {
  const EngineInfo& sequential = find_engine("sequential");
  RunOptions options;
  options.seed = 4;
  options.pending = "heap";
  options.workers = 1;
  options.set(timewarp::kWindow, 0);
  EXPECT_EQ(note_unused_options(sequential, options), "");
  options.set(timewarp::kWindow, 5);
  EXPECT_EQ(note_unused_options(sequential, options), "engine sequential does not use --window");
  EXPECT_EQ(note_unused_options(find_engine("timewarp"), options), "");
  options.set(checkpoint::kCheckpoint, "copy");
  options.workers = 2;
  EXPECT_EQ(note_unused_options(sequential, options),
            "engine sequential does not use --workers, --checkpoint and --window");
  EXPECT_EQ(note_unused_options(find_engine("expanded"), options),
            "engine expanded does not use --checkpoint and --window");
}

TEST(UnusedOptions, NameTheSuccessorIfTheyAreRetired) {
  static const RetiredOption retired{"test-retired", "use --test-n"};
  RunOptions options;
  EXPECT_FALSE(retired.asked(options));
  retired.read("anything", kMillisecond, options);
  EXPECT_TRUE(retired.asked(options));
  EXPECT_TRUE(retired.report(options, kMillisecond).empty());
  EXPECT_EQ(note_unused_options(find_engine("expanded"), options),
            "engine expanded does not use --test-retired; use --test-n");
}

TEST(UnusedOptions, AreRefusedForDiagnosis) {
  const EngineInfo& checker = find_engine("checker");
  RunOptions options;
  options.set(checkpoint::kCheckpoint, "copy");
  EXPECT_EQ(note_unused_options(checker, options), "");
  options.set(timewarp::kWindow, 5);
  try {
    note_unused_options(checker, options);
    FAIL() << "a UsageError was expected";
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "engine checker does not use --window; leave it away");
  }
}

TEST(OptionRules, HoldOnEveryEngine) {
  RunOptions options;
  EXPECT_NO_THROW(check_option_rules(options));
  options.set(checkpoint::kOffload, "multi");
  EXPECT_NO_THROW(check_option_rules(options));
  options.set(checkpoint::kCheckpoint, "incremental");
  EXPECT_THROW(check_option_rules(options), UsageError);
}

}  // namespace
}  // namespace orrery
