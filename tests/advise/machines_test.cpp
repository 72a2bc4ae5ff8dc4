// SPDX-License-Identifier: Apache-2.0
#include "advise/machines.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "orrery/error.h"

namespace orrery::advise {
namespace {

class MachinesFile : public testing::Test {
 protected:
  MachineTable read(const std::string& text) {
    std::ofstream(path_) << text;
    return read_machines(path_);
  }
  /// The refusal, without the file, which it must name.
  std::string refusal(const std::string& text) {
    try {
      read(text);
    } catch (const UsageError& error) {
      const std::string sentence = error.what(), file = "table of machines '" + path_ + "'";
      EXPECT_EQ(sentence.substr(0, file.size()), file);
      return sentence.substr(file.size());
    }
    return "";
  }
  void TearDown() override { std::filesystem::remove(path_); }

  const std::string path_ = testing::TempDir() + "machines-" +
                            testing::UnitTest::GetInstance()->current_test_info()->name() + ".toml";
};

constexpr const char* kGood =
    "currency = \"shells\"\n"
    "[[machine]]\n"
    "name = \"small\"\n"
    "cores = 2\n"
    "speed = 1\n"
    "price_per_hour = 0.05\n"
    "[[machine]]\n"
    "name = \"large\"\n"
    "cores = 16\n"
    "speed = 1.25\n"
    "price_per_hour = 0.8\n"
    "memory_gib = 64\n";

std::string with(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

TEST_F(MachinesFile, IsReadInItsOrder) {
  const MachineTable table = read(kGood);
  EXPECT_EQ(table.currency, "shells");
  ASSERT_EQ(table.machines.size(), 2U);
  EXPECT_EQ(table.machines[0].name, "small");
  EXPECT_EQ(table.machines[0].cores, 2U);
  EXPECT_FALSE(table.machines[0].memory);
  EXPECT_DOUBLE_EQ(table.machines[1].speed, 1.25);
  EXPECT_DOUBLE_EQ(table.machines[1].price_per_hour, 0.8);
  EXPECT_DOUBLE_EQ(*table.machines[1].memory, 64.0 * 1024 * 1024 * 1024);
}

TEST_F(MachinesFile, TheExampleIsOne) {
  const MachineTable table = read_machines(ORRERY_SOURCE_ROOT "/docs/machines.toml");
  EXPECT_GE(table.machines.size(), 3U);
}

TEST_F(MachinesFile, RefusesEachWrongLine) {
  EXPECT_EQ(refusal(with(kGood, "cores = 2", "cores = 0")),
            ", line 4: cores is a whole number from 1 to 4096");
  EXPECT_EQ(refusal(with(kGood, "cores = 2", "cores = 2.5")),
            ", line 4: cores is a whole number from 1 to 4096");
  EXPECT_EQ(refusal(with(kGood, "cores = 2", "cores = \"2\"")),
            ", line 4: cores is a whole number from 1 to 4096");
  EXPECT_EQ(refusal(with(kGood, "speed = 1\n", "speed = 0\n")),
            ", line 5: speed is a number above 0, without quotes and without a unit");
  EXPECT_EQ(refusal(with(kGood, "speed = 1\n", "speed = nan\n")),
            ", line 5: speed is a number above 0, without quotes and without a unit");
  EXPECT_EQ(refusal(with(kGood, "0.05", "\"0.05 $\"")),
            ", line 6: price_per_hour is a number from 0 on, without quotes and without a unit");
  EXPECT_EQ(refusal(with(kGood, "0.05", "-0.05")),
            ", line 6: price_per_hour is a number from 0 on, without quotes and without a unit");
  EXPECT_EQ(refusal(with(kGood, "memory_gib = 64", "memory_gib = true")),
            ", line 12: memory_gib is a number above 0, without quotes and without a unit");
  EXPECT_EQ(refusal(with(kGood, "\"large\"", "\"small\"")),
            ", line 8: there are two machines 'small'; give one another name");
  EXPECT_EQ(refusal(with(kGood, "\"small\"", "7")), ", line 3: name is a text, in quotes");
  EXPECT_EQ(refusal(with(kGood, "\"small\"", "\"\"")), ", line 3: the name is empty");
  EXPECT_EQ(refusal(with(kGood, "\"shells\"", "1")), ", line 1: currency is a text, in quotes");
  EXPECT_EQ(refusal(with(kGood, "cores = 2\n", "")),
            ", line 2: the machine that begins here has no cores");
}

TEST_F(MachinesFile, NamesWhatIsMeantByWhatIsUnknown) {
  EXPECT_EQ(refusal(with(kGood, "speed = 1\n", "sped = 1\n")),
            ", line 5: a machine has no 'sped'; did you mean 'speed'? (it has name, cores, speed, "
            "price_per_hour, memory_gib)");
  EXPECT_EQ(refusal(with(kGood, "currency", "money")),
            ", line 1: 'money' is nothing of a table of machines; it has [[machine]] for each "
            "machine, and a currency");
}

TEST_F(MachinesFile, RefusesWhatIsNoTable) {
  EXPECT_NE(refusal("cores = \n").find(", line 1: "), std::string::npos);
  EXPECT_EQ(refusal("# none\n"),
            " has no machine; write [[machine]] and below it name, cores, speed and "
            "price_per_hour");
  EXPECT_EQ(refusal("[machine]\nname = \"a\"\n"),
            ", line 1: a machine begins with [[machine]], in two pairs of brackets");
  EXPECT_EQ(refusal("machine = [1]\n"),
            ", line 1: a machine begins with [[machine]], and not with a list of values");
}

TEST_F(MachinesFile, RefusesAFileThatIsNotThere) {
  EXPECT_THROW(read_machines(path_ + ".none"), UsageError);
}

TEST(Price, IsBilledByTheSecondThatHasBegun) {
  Machine machine;
  machine.price_per_hour = 36;
  EXPECT_DOUBLE_EQ(price_of(machine, 9.2), 0.1);
  EXPECT_DOUBLE_EQ(price_of(machine, 10), 0.1);
}

}  // namespace
}  // namespace orrery::advise
