// SPDX-License-Identifier: Apache-2.0
//
// Parameters of every type: what they accept, what they refuse, and whether the refusal says which
// parameter, what was given and what is allowed.
#include "orrery/parameter.h"

#include <gtest/gtest.h>

#include <memory>

#include "core/model_registry.h"
#include "orrery/error.h"
#include "orrery/model.h"

namespace orrery {
namespace {

class Settings final : public Model {
 public:
  std::uint64_t lp_count() const override { return 1; }
  std::unique_ptr<LogicalProcessBase> create(LpId) const override { return nullptr; }

  Parameter<std::int64_t> cells{
      *this, "cells", 7, {.help = "how many", .unit = "cells", .minimum = 1, .maximum = 100}};
  Parameter<std::int64_t> free_number{*this, "free_number", -3, {}};
  Parameter<std::int64_t> size{*this, "size", 8, {.choices = {8, 64, 512}}};
  Parameter<double> load{*this, "load", 0.8, {.minimum = 0.0, .maximum = 1.5}};
  Parameter<double> at_least{*this, "at_least", 2.0, {.minimum = 1.0}};
  Parameter<double> at_most{*this, "at_most", 2.0, {.maximum = 3.0}};
  Parameter<bool> fading{*this, "fading", false, {}};
  Parameter<std::string> name{*this, "name", "x", {}};
  Parameter<std::string> policy{*this, "policy", "fifo", {.choices = {"fifo", "lifo"}}};
  Parameter<Duration> mean{*this,
                           "mean",
                           Duration::seconds(2),
                           {.minimum = Duration::zero(), .maximum = Duration::seconds(60)}};
};

/// The sentence with which `text` is refused; empty if it is accepted.
std::string refusal(ParameterBase& parameter, std::string_view text) {
  const std::string before = parameter.value_text();
  try {
    parameter.set(text);
    return "";
  } catch (const UsageError& error) {
    EXPECT_EQ(parameter.value_text(), before) << "a refused value must change nothing";
    return error.what();
  }
}

void expect_refused(ParameterBase& parameter, std::string_view text,
                    const std::vector<std::string>& parts) {
  const std::string sentence = refusal(parameter, text);
  EXPECT_FALSE(sentence.empty()) << parameter.name() << " took '" << text << "'";
  EXPECT_NE(sentence.find("'" + parameter.name() + "'"), std::string::npos) << sentence;
  EXPECT_NE(sentence.find(text), std::string::npos) << sentence;
  for (const std::string& part : parts)
    EXPECT_NE(sentence.find(part), std::string::npos) << "'" << part << "' is not in: " << sentence;
}

TEST(Parameter, DefaultsAndTypes) {
  Settings s;
  EXPECT_EQ(s.cells.value(), 7);
  EXPECT_EQ(s.cells.type_text(), "integer");
  EXPECT_EQ(s.load.type_text(), "real");
  EXPECT_EQ(s.fading.type_text(), "yes/no");
  EXPECT_EQ(s.name.type_text(), "text");
  EXPECT_EQ(s.mean.type_text(), "duration");
  EXPECT_EQ(s.cells.unit(), "cells");
  EXPECT_EQ(s.cells.help(), "how many");
  ASSERT_EQ(s.parameters().size(), 10u);
  EXPECT_EQ(s.parameters().front()->name(), "cells");
  EXPECT_EQ(s.parameters().back()->name(), "mean");
}

TEST(Parameter, SettingKeepsTheDefault) {
  Settings s;
  s.cells.set("33");
  EXPECT_EQ(s.cells, 33);
  EXPECT_EQ(s.cells.value_text(), "33");
  EXPECT_EQ(s.cells.default_text(), "7");
}

TEST(Parameter, Integers) {
  Settings s;
  for (const auto& [text, value] :
       std::vector<std::pair<std::string, std::int64_t>>{{"0", 0},
                                                         {"-5", -5},
                                                         {"9223372036854775807", INT64_MAX},
                                                         {"-9223372036854775808", INT64_MIN},
                                                         {"007", 7}}) {
    EXPECT_EQ(refusal(s.free_number, text), "") << text;
    EXPECT_EQ(s.free_number.value(), value) << text;
  }
  for (const char* text : {"", " ", "x", "1.5", "1e3", "5 ", " 5", "5x", "0x10", "+5", "--5",
                           "9223372036854775808", "99999999999999999999"})
    expect_refused(s.free_number, text, {"whole number"});
}

TEST(Parameter, IntegerRange) {
  Settings s;
  EXPECT_EQ(s.cells.range_text(), "1 .. 100");
  EXPECT_EQ(refusal(s.cells, "1"), "");
  EXPECT_EQ(refusal(s.cells, "100"), "");
  for (const char* text : {"0", "101", "-1", "9223372036854775807"})
    expect_refused(s.cells, text, {"1 .. 100", "cells"});
  expect_refused(s.cells, "many", {"whole number", "1 .. 100"});
}

TEST(Parameter, Choices) {
  Settings s;
  EXPECT_EQ(s.size.range_text(), "one of 8, 64, 512");
  EXPECT_EQ(refusal(s.size, "64"), "");
  EXPECT_EQ(s.size, 64);
  expect_refused(s.size, "9", {"one of 8, 64, 512"});
  EXPECT_EQ(refusal(s.policy, "lifo"), "");
  EXPECT_EQ(s.policy.value(), "lifo");
  expect_refused(s.policy, "LIFO", {"one of fifo, lifo"});
  expect_refused(s.policy, "fif", {"one of fifo, lifo"});
}

TEST(Parameter, Reals) {
  Settings s;
  EXPECT_EQ(s.load.range_text(), "0 .. 1.5");
  for (const auto& [text, value] : std::vector<std::pair<std::string, double>>{
           {"0", 0}, {"1.5", 1.5}, {"1", 1}, {"1e-3", 0.001}, {".5", 0.5}, {"1.", 1}}) {
    EXPECT_EQ(refusal(s.load, text), "") << text;
    EXPECT_EQ(s.load.value(), value) << text;
  }
  for (const char* text : {"", "x", "1,5", "nan", "inf", "-inf", "1e999", "0.5x", "0.5 "})
    expect_refused(s.load, text, {"a number", "0 .. 1.5"});
  for (const char* text : {"-0.001", "1.5000001", "1e300"})
    expect_refused(s.load, text, {"0 .. 1.5"});
}

TEST(Parameter, HalfOpenRanges) {
  Settings s;
  EXPECT_EQ(s.at_least.range_text(), "at least 1");
  EXPECT_EQ(s.at_most.range_text(), "at most 3");
  EXPECT_EQ(s.free_number.range_text(), "");
  EXPECT_EQ(refusal(s.at_least, "1e18"), "");
  EXPECT_EQ(refusal(s.at_most, "-1e18"), "");
  expect_refused(s.at_least, "0.99", {"at least 1"});
  expect_refused(s.at_most, "3.01", {"at most 3"});
}

TEST(Parameter, YesAndNo) {
  Settings s;
  for (const char* text : {"yes", "true", "on", "1"}) {
    s.fading.set("no");
    EXPECT_EQ(refusal(s.fading, text), "") << text;
    EXPECT_TRUE(s.fading) << text;
  }
  EXPECT_EQ(s.fading.value_text(), "yes");
  for (const char* text : {"no", "false", "off", "0"}) {
    s.fading.set("yes");
    EXPECT_EQ(refusal(s.fading, text), "") << text;
    EXPECT_FALSE(s.fading) << text;
  }
  EXPECT_EQ(s.fading.value_text(), "no");
  for (const char* text : {"", "y", "2", "maybe", "yes "})
    expect_refused(s.fading, text, {"yes or no"});
}

TEST(Parameter, Texts) {
  Settings s;
  for (const char* text : {"", "a b", "ü", "x=y", "'"}) {
    EXPECT_EQ(refusal(s.name, text), "");
    EXPECT_EQ(s.name.value(), text);
  }
}

TEST(Parameter, Durations) {
  Settings s;
  EXPECT_EQ(s.mean.range_text(), "0 s .. 1 min");
  EXPECT_EQ(s.mean.default_text(), "2 s");
  EXPECT_EQ(refusal(s.mean, "250ms"), "");
  EXPECT_EQ(s.mean.value(), Duration::milliseconds(250));
  EXPECT_EQ(refusal(s.mean, "1min"), "");
  for (const char* text : {"", "fast", "5 parsecs", "ms", "1 s s"})
    expect_refused(s.mean, text, {"a duration such as", "0 s .. 1 min"});
  for (const char* text : {"-1ns", "61s", "2min"}) expect_refused(s.mean, text, {"0 s .. 1 min"});
}

TEST(Parameter, ValuesReadBack) {
  Settings s;
  s.load.set("0.1");
  s.mean.set("1.000000001s");
  s.free_number.set("-9223372036854775808");
  for (ParameterBase* parameter : s.parameters()) {
    const std::string text = parameter->value_text();
    EXPECT_EQ(refusal(*parameter, text), "") << parameter->name() << " printed '" << text << "'";
    EXPECT_EQ(parameter->value_text(), text) << parameter->name();
  }
  EXPECT_EQ(s.load.value(), 0.1);
  EXPECT_EQ(s.mean.value(), Duration::nanoseconds(1'000'000'001));
}

/// Every text that is printed for a real is the shortest that reads back to the same bits.
TEST(Parameter, RealsReadBackToTheBit) {
  Settings s;
  for (const char* text : {"0.1", "0.30000000000000004", "5e-324", "1.4999999999999998"}) {
    s.load.set(text);
    EXPECT_EQ(s.load.value_text(), text);
  }
}

TEST(Parameter, ByName) {
  Settings s;
  set_parameter(s, "cells", "9");
  EXPECT_EQ(s.cells, 9);
  try {
    set_parameter(s, "cels", "9");
    FAIL() << "an unknown parameter was set";
  } catch (const UsageError& error) {
    const std::string sentence = error.what();
    for (const char* part : {"'cels'", "did you mean 'cells'", "policy"})
      EXPECT_NE(sentence.find(part), std::string::npos) << sentence;
  }
}

}  // namespace
}  // namespace orrery
