// SPDX-License-Identifier: Apache-2.0
//
// Measured distributions: that they are drawn as their tables say, from memory and from files, and
// what is refused.
#include "orrery/empirical.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/random_statistics.h"
#include "orrery/error.h"

namespace orrery {
namespace {

using namespace testing;

/// A file with this content, gone with the object.
struct TemporaryFile {
  explicit TemporaryFile(const std::string& content)
      : path(std::filesystem::temp_directory_path() /
             ("orrery-empirical-" + std::to_string(getpid()))) {
    std::ofstream(path) << content;
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() { std::filesystem::remove(path); }
  const std::filesystem::path path;
};

TEST(Empirical, ValuesOccurByTheirWeights) {
  const EmpiricalValues table(std::vector{2.0, -1.5, 7.0, 3.0}, std::vector{1.0, 2.0, 0.0, 5.0});
  EXPECT_EQ(table.size(), 4u);
  EXPECT_DOUBLE_EQ(table.mean(), (2 - 3 + 15) / 8.0);
  const auto sample = sample_of(150, 50000, [&](Random& r) { return table(r); });
  std::vector<double> counts(3);
  for (const double x : sample) {
    ASSERT_TRUE(x == 2 || x == -1.5 || x == 3) << x;
    counts[x == 2 ? 0 : x == 3 ? 2 : 1] += 1;
  }
  expect_counts(counts, {6250, 12500, 31250});
  expect_moments(sample, 1.75, (4 + 2 * 2.25 + 5 * 9) / 8 - 1.75 * 1.75);
}

TEST(Empirical, PointsAreJoinedByLines) {
  const std::vector<double> values{-1, 0, 2, 3}, counts{0, 10, 10, 40};
  const auto law = EmpiricalReal::of_points(values, counts);
  const auto sample = sample_of(151, 50000, [&](Random& r) { return law(r); });
  expect_distribution(sample, [](double x) {
    return x < 0 ? (x + 1) / 4 : x < 2 ? 0.25 : 0.25 + 0.75 * (x - 2);
  });
  EXPECT_DOUBLE_EQ(law.mean(), -0.5 / 4 + 2.5 * 0.75);
  expect_moments(sample, 1.75, 1 / 12.0 + (2.25 * 2.25 * 0.25 + 0.75 * 0.75 * 0.75));
  EXPECT_EQ(law.quantile(0), -1);
  EXPECT_EQ(law.quantile(0.25), 2);
  EXPECT_EQ(law.quantile(0.125), -0.5);
  EXPECT_LE(law.quantile(std::nextafter(1.0, 0.0)), 3);
}

TEST(Empirical, ASampleIsSpreadEvenly) {
  const auto law = EmpiricalReal::of_sample(std::vector{5.0, 1.0, 2.0, 2.0, 11.0});
  EXPECT_EQ(law.size(), 5u);
  EXPECT_EQ(law.quantile(0), 1);
  EXPECT_EQ(law.quantile(0.125), 1.5);
  EXPECT_EQ(law.quantile(0.375), 2);
  EXPECT_EQ(law.quantile(0.5), 2);
  EXPECT_EQ(law.quantile(0.75), 5);
  EXPECT_EQ(law.quantile(0.875), 8);
  EXPECT_DOUBLE_EQ(law.mean(), (1.5 + 2 + 3.5 + 8) / 4);
  const auto untied = EmpiricalReal::of_sample(std::vector{5.0, 1.0, 2.0, 3.0, 11.0});
  const auto sample = sample_of(152, 50000, [&](Random& r) { return untied(r); });
  expect_distribution(sample, [](double x) {
    if (x < 3) return (x - 1) / 4;
    return x < 5 ? 0.5 + (x - 3) / 8 : 0.75 + (x - 5) / 24;
  });
}

TEST(Empirical, FilesHaveRowsOfOneOrTwoNumbers) {
  const TemporaryFile weights("# seats, how often\n1, 3\n\n2\t1 # rare\r\n4.5e1;0\n7\n");
  const auto values = EmpiricalValues::read(weights.path);
  EXPECT_EQ(values.size(), 4u);
  EXPECT_DOUBLE_EQ(values.mean(), (3 + 2 + 7) / 5.0);
  const TemporaryFile points("0 0\n1 30\n4 120\n");
  EXPECT_DOUBLE_EQ(EmpiricalReal::read(points.path).quantile(0.625), 2.5);
  const TemporaryFile sample("4\n0\n1");
  EXPECT_DOUBLE_EQ(EmpiricalReal::read(sample.path).quantile(0.75), 2.5);
}

template <class Make>
std::string sentence_of(Make make) {
  try {
    make();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "accepted";
}

TEST(EmpiricalRefusal, WrongTables) {
  const auto points = [](std::vector<double> values, std::vector<double> shares) {
    return sentence_of([&] { EmpiricalReal::of_points(values, shares); });
  };
  EXPECT_EQ(points({1}, {0}), "EmpiricalReal: there must be at least 2 points.");
  EXPECT_EQ(points({1, 2}, {0}), "EmpiricalReal: 2 values have 1 cumulative shares.");
  EXPECT_EQ(points({1, 2}, {0.1, 1}),
            "EmpiricalReal: the first cumulative share must be 0, but it is 0.1.");
  EXPECT_EQ(points({1, 1}, {0, 1}), "EmpiricalReal: values must rise, but 1 follows 1.");
  EXPECT_EQ(points({1, 2, 3}, {0, 2, 1}),
            "EmpiricalReal: cumulative shares must not fall, but 1 follows 2.");
  EXPECT_EQ(points({1, 2}, {0, 0}), "EmpiricalReal: the last cumulative share must be above 0.");
  EXPECT_EQ(points({1, kInfinity}, {0, 1}),
            "EmpiricalReal: point 2 must be finite, but it is inf, 1.");
  EXPECT_NE(points({-1e308, 1e308}, {0, 1}), "accepted");
  EXPECT_NE(points({1, 2}, {0, kNaN}), "accepted");
  EXPECT_NE(sentence_of([] { EmpiricalReal::of_sample(std::vector{1.0}); }), "accepted");
  EXPECT_NE(sentence_of([] { EmpiricalReal::of_sample(std::vector{1.0, kNaN}); }), "accepted");
  const auto values = [](std::vector<double> v, std::vector<double> w) {
    return sentence_of([&] { EmpiricalValues(v, w); });
  };
  EXPECT_EQ(values({1, 2}, {1}), "EmpiricalValues: 2 values have 1 weights.");
  EXPECT_EQ(values({kNaN}, {1}), "EmpiricalValues: a value must be finite, but it is nan.");
  EXPECT_NE(values({}, {}), "accepted");
  EXPECT_NE(values({1, 2}, {1, -1}), "accepted");
}

TEST(EmpiricalRefusal, WrongFilesAreNamedWithTheirLine) {
  const auto reading = [](const std::string& content, auto read) {
    const TemporaryFile file(content);
    const std::string name = "'" + file.path.string() + "'";
    std::string sentence = sentence_of([&] { read(file.path.string()); });
    if (sentence.starts_with(name)) sentence.replace(0, name.size(), "FILE");
    return sentence;
  };
  const auto values = [](const std::string& path) { EmpiricalValues::read(path); };
  const auto real = [](const std::string& path) { EmpiricalReal::read(path); };
  EXPECT_EQ(reading("1 2\n3 x\n", values), "FILE, line 2: 'x' is no number");
  EXPECT_EQ(reading("1 2 3\n", values), "FILE, line 1: a row has one or two numbers");
  EXPECT_EQ(reading("\n1 -2\n", values), "FILE, line 2: a weight is at least 0");
  EXPECT_EQ(reading("# nothing\n", values), "FILE has no numbers");
  EXPECT_EQ(reading("1\n2 3\n", real),
            "FILE, line 2: the rows before have one number, this one has two");
  EXPECT_EQ(reading("1 0\n2\n", real),
            "FILE, line 2: the rows before have two numbers, this one has one");
  EXPECT_EQ(reading("1 0\n1 3\n", real), "FILE: EmpiricalReal: values must rise, but 1 follows 1.");
  EXPECT_EQ(reading("1e999\n2\n", real), "FILE, line 1: '1e999' is no number");
  EXPECT_THROW(EmpiricalReal::read("/nowhere/at/all"), UsageError);
}

TEST(EmpiricalGolden, Draws) {
  const EmpiricalValues values(std::vector{1.5, 2.5, 9.0}, std::vector{1.0, 2.0, 0.7});
  EXPECT_EQ(
      golden_of(153, [&](Random& r) { return values(r); }),
      (Golden{{0x4022000000000000, 0x4004000000000000, 0x3ff8000000000000}, 0x3fae5882db2c3f4b}));
  const auto points =
      EmpiricalReal::of_points(std::vector{0.3, 1.7, 5.1}, std::vector{0.0, 3.0, 7.0});
  EXPECT_EQ(
      golden_of(154, [&](Random& r) { return points(r); }),
      (Golden{{0x4008db711691fc2a, 0x3ff4805be64a58b8, 0x3fe73720389b5c18}, 0x1d644dfebf6e2593}));
  const auto sample = EmpiricalReal::of_sample(std::vector{0.3, 1.7, 5.1, 4.4});
  EXPECT_EQ(
      golden_of(155, [&](Random& r) { return sample(r); }),
      (Golden{{0x3feb1ca37030328a, 0x4013e619f10be8bf, 0x40111664644afe09}, 0xbb4cb4893ba62f13}));
}

}  // namespace
}  // namespace orrery
