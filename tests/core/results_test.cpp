// SPDX-License-Identifier: Apache-2.0
//
// Summaries of metrics against two passes in long double, tables' limits, and the buffer in which
// rows travel.
#include "orrery/results.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/row_cells.h"
#include "core/rows.h"
#include "orrery/error.h"
#include "orrery/model.h"

namespace orrery {
namespace {

struct Reference {
  explicit Reference(const std::vector<double>& values) {
    for (const double v : values) sum += v;
    const long double mean = values.empty() ? 0 : sum / static_cast<long double>(values.size());
    for (const double v : values) squares += (v - mean) * (v - mean);
    if (values.size() > 1)
      deviation = std::sqrt(squares / static_cast<long double>(values.size() - 1));
  }
  long double sum = 0, squares = 0, deviation = 0;
};

std::vector<double> random_values(std::uint64_t seed, std::size_t count, double offset,
                                  double scale) {
  std::mt19937_64 random(seed);
  std::vector<double> values(count);
  for (double& v : values)
    v = offset + scale * (static_cast<double>(random() >> 11) * 0x1p-53 - 0.5);
  return values;
}

void expect_close(const Summary& summary, const std::vector<double>& values,
                  const std::string& what) {
  const Reference reference(values);
  ASSERT_EQ(summary.count, values.size()) << what;
  const double magnitude = std::fabs(static_cast<double>(reference.sum)) + 1e-300;
  EXPECT_NEAR(summary.sum, static_cast<double>(reference.sum), 1e-11 * magnitude) << what;
  EXPECT_NEAR(summary.deviation(), static_cast<double>(reference.deviation),
              1e-6 * static_cast<double>(reference.deviation) + 1e-300)
      << what;
  EXPECT_EQ(summary.minimum, *std::min_element(values.begin(), values.end())) << what;
  EXPECT_EQ(summary.maximum, *std::max_element(values.begin(), values.end())) << what;
}

Summary summary_of(const std::vector<double>& values) {
  Summary summary;
  for (const double v : values) summary.add(v);
  return summary;
}

TEST(Summary, Empty) {
  const Summary summary;
  EXPECT_TRUE(std::isnan(summary.mean()));  // no value is no value
  EXPECT_EQ(summary.deviation(), 0.0);
}

TEST(Summary, OfEqualValuesHasNoDeviation) {
  for (const double value : {1e300, -1e308, 0.1, 5e-324})
    EXPECT_EQ(summary_of({value, value, value}).deviation(), 0.0) << value;
}

TEST(Summary, OneValue) {
  for (const double v : {-3.5, 0.0, 1e300}) {
    const Summary summary = summary_of({v});
    EXPECT_EQ(summary.mean(), v);
    EXPECT_EQ(summary.deviation(), 0.0);
    EXPECT_EQ(summary.minimum, v);
    EXPECT_EQ(summary.maximum, v);
  }
}

TEST(Summary, KnownValues) {
  const Summary summary = summary_of({2, 4, 4, 4, 5, 5, 7, 9});
  EXPECT_EQ(summary.mean(), 5.0);
  EXPECT_DOUBLE_EQ(summary.deviation(), std::sqrt(32.0 / 7.0));
  EXPECT_EQ(summary.minimum, 2.0);
  EXPECT_EQ(summary.maximum, 9.0);
}

/// The textbook formula (mean of squares less square of the mean) fails this one: an offset that is
/// large beside the deviation.
TEST(Summary, AgreesWithTwoPassesInLongDouble) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    for (const double offset : {0.0, 1.0, -1e6, 1e9}) {
      const auto values = random_values(seed, 20'000, offset + 3, 2.0);
      expect_close(summary_of(values), values,
                   "seed " + std::to_string(seed) + ", offset " + std::to_string(offset));
    }
  }
}

TEST(Summary, MergingIsAddingAll) {
  std::mt19937_64 random(11);
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto values = random_values(seed, 3000, seed % 2 == 0 ? 1e6 : 0.25, 1.0);
    Summary merged;
    for (std::size_t at = 0; at < values.size();) {
      const std::size_t size = std::min<std::size_t>(random() % 400, values.size() - at);
      Summary part;  // empty ones among them
      for (std::size_t i = at; i < at + size; ++i) part.add(values[i]);
      merged.merge(part);
      at += size;
    }
    expect_close(merged, values, "seed " + std::to_string(seed));
  }
}

TEST(Summary, MergingAnEmptyOneChangesNoBit) {
  const Summary full = summary_of({0.1, 0.7, -3});
  Summary left = full, right;
  left.merge(Summary{});
  right.merge(full);
  for (const Summary& s : {left, right}) {
    EXPECT_EQ(s.count, full.count);
    EXPECT_EQ(s.sum, full.sum);
    EXPECT_EQ(s.squares, full.squares);
    EXPECT_EQ(s.minimum, full.minimum);
    EXPECT_EQ(s.maximum, full.maximum);
  }
}

TEST(Summary, EqualValuesHaveNoDeviation) {
  Summary summary;
  for (int i = 0; i < 1000; ++i) summary.add(0.1);
  EXPECT_NEAR(summary.deviation(), 0.0, 1e-12);
  EXPECT_GE(summary.squares, 0.0);
}

class TableModel final : public Model {
 public:
  std::uint64_t lp_count() const override { return 1; }
  std::unique_ptr<LogicalProcessBase> create(LpId) const override { return nullptr; }
};

TEST(Results, IndicesFollowTheOrderOfDeclaration) {
  TableModel model;
  const Metric a(model, "a", "s", "first"), b(model, "b", "", "second");
  const Table t(model, "t", {{"x"}}, "one"), u(model, "u", {{"x"}, {"y"}}, "two");
  EXPECT_EQ(a.index(), 0u);
  EXPECT_EQ(b.index(), 1u);
  EXPECT_EQ(t.index(), 0u);
  EXPECT_EQ(u.index(), 1u);
  ASSERT_EQ(model.metrics().size(), 2u);
  EXPECT_EQ(model.metrics()[1], &b);
  EXPECT_EQ(model.tables()[1], &u);
}

TEST(Results, TablesHaveOneToSixteenColumns) {
  TableModel model;
  EXPECT_NO_THROW(Table(model, "most", std::vector<Column>(16, Column{"x"}), ""));
  for (const std::size_t columns : {std::size_t{0}, std::size_t{17}}) {
    TableModel other;
    try {
      const Table table(other, "odd", std::vector<Column>(columns, Column{"x"}), "");
      FAIL() << columns << " columns were accepted";
    } catch (const UsageError& error) {
      EXPECT_NE(std::string(error.what()).find("'odd'"), std::string::npos) << error.what();
      EXPECT_TRUE(other.tables().empty()) << "a refused table stays registered";
    }
  }
}

TEST(Rows, ComeOutAsTheyWentIn) {
  std::mt19937_64 random(8);
  struct Kept {
    Key key;
    std::uint32_t ordinal, table;
    LpId lp;
    std::vector<std::uint64_t> cells;
  };
  std::vector<Kept> kept;
  RowBuffer buffer;
  EXPECT_TRUE(buffer.empty());
  for (int i = 0; i < 500; ++i) {
    Kept row{Key(Time::from_ticks(static_cast<std::int64_t>(random())),
                 static_cast<std::uint32_t>(random()) & Key::kMaxMicrostep,
                 static_cast<LpId>(random()), random() & Key::kMaxSequence),
             static_cast<std::uint32_t>(random()),
             static_cast<std::uint32_t>(random()),
             static_cast<LpId>(random()),
             {}};
    for (std::size_t n = random() % 17; n > 0; --n) row.cells.push_back(random());
    buffer.append({row.key, row.ordinal, row.lp, row.table, row.cells});
    kept.push_back(std::move(row));
  }
  std::size_t i = 0;
  buffer.for_each([&](const Row& row) {
    ASSERT_LT(i, kept.size());
    EXPECT_EQ(row.key, kept[i].key) << "row " << i;
    EXPECT_EQ(row.ordinal, kept[i].ordinal) << "row " << i;
    EXPECT_EQ(row.table, kept[i].table) << "row " << i;
    EXPECT_EQ(row.lp, kept[i].lp) << "row " << i;
    EXPECT_EQ(std::vector<std::uint64_t>(row.cells.begin(), row.cells.end()), kept[i].cells);
    ++i;
  });
  EXPECT_EQ(i, kept.size());
  buffer.clear();
  EXPECT_TRUE(buffer.empty());
}

TEST(RowCells, ComeOutAsTheyWentIn) {
  TableModel model;
  const Table table(model, "t",
                    {{"a", ColumnType::text},
                     {"n", ColumnType::integer},
                     {"b", ColumnType::text},
                     {"x", ColumnType::real},
                     {"c", ColumnType::text}},
                    "");
  for (const std::size_t length : {0, 1, 7, 8, 9, 63, 64, 4000}) {
    std::string a(length, 'q');
    if (length > 2) a[2] = '\0';
    const std::string_view texts[] = {a, {}, "", {}, "end"};
    const std::uint64_t cells[] = {length, static_cast<std::uint64_t>(-5), 0,
                                   std::bit_cast<std::uint64_t>(0.1), 3};
    row_cells::Words words;
    words.fill(~std::uint64_t{0});
    const std::size_t count = row_cells::pack(cells, texts, words);
    EXPECT_EQ(count, 5 + (length + 7) / 8 + 1);
    std::string read;
    row_cells::for_each(table, {words.data(), count}, [&]<class T>(const T& value) {
      if constexpr (std::is_same_v<T, std::string_view>)
        read += std::string(value) + "|";
      else
        read += std::to_string(value) + "|";
    });
    EXPECT_EQ(read, a + "|-5||0.100000|end|");
    row_cells::Words again{};
    EXPECT_EQ(row_cells::pack(cells, texts, again), count);
    EXPECT_TRUE(std::equal(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(count),
                           again.begin()))
        << "what is behind a text depends on what was there";
  }
}

TEST(RowCells, HaveRoomForTheLongestTextsAndNoMore) {
  constexpr std::size_t kMost = Table::kMaxTextBytes;
  const std::string half(kMost / 2, 'x'), more(kMost / 2 + 1, 'x');
  const std::uint64_t cells[] = {half.size(), half.size()};
  row_cells::Words words;
  EXPECT_EQ(row_cells::pack(cells, std::array<std::string_view, 2>{half, half}, words),
            2 + kMost / 8);
  EXPECT_EQ(row_cells::pack(cells, std::array<std::string_view, 2>{half, more}, words), 0u);
  std::array<std::string_view, Table::kMaxColumns> many;
  std::array<std::uint64_t, Table::kMaxColumns> lengths;
  const std::string odd(kMost / Table::kMaxColumns - 7, 'y');
  many.fill(odd);
  lengths.fill(odd.size());
  EXPECT_LE(row_cells::pack(lengths, many, words), words.size());
}

}  // namespace
}  // namespace orrery
