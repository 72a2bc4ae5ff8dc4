// SPDX-License-Identifier: Apache-2.0
#include "study/axis.h"

#include <gtest/gtest.h>

#include "orrery/error.h"
#include "study/plan.h"

namespace orrery::study {
namespace {

using Texts = std::vector<std::string>;

std::string refusal_of(const std::string& text) {
  try {
    expand_values(text);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(Axis, ListsAreTakenAsTheyAre) {
  EXPECT_EQ(expand_values("csma,aloha"), (Texts{"csma", "aloha"}));
  EXPECT_EQ(expand_values("7"), (Texts{"7"}));
  EXPECT_EQ(expand_values("../maps/a.csv"), (Texts{"../maps/a.csv"}));
  EXPECT_EQ(expand_values("a..b"), (Texts{"a..b"}));
}

TEST(Axis, RangesHaveTheirLastValueWhereAStepMeetsIt) {
  EXPECT_EQ(expand_values("10..50:10"), (Texts{"10", "20", "30", "40", "50"}));
  EXPECT_EQ(expand_values("10..45:10"), (Texts{"10", "20", "30", "40"}));
  EXPECT_EQ(expand_values("1..3"), (Texts{"1", "2", "3"}));
  EXPECT_EQ(expand_values("5..5:2"), (Texts{"5"}));
  EXPECT_EQ(expand_values("-1..1"), (Texts{"-1", "0", "1"}));
  EXPECT_EQ(expand_values("1,10..12,20"), (Texts{"1", "10", "11", "12", "20"}));
}

TEST(Axis, RangesCountInDecimalDigits) {
  EXPECT_EQ(expand_values("0.1..0.5:0.1"), (Texts{"0.1", "0.2", "0.3", "0.4", "0.5"}));
  EXPECT_EQ(expand_values("-0.1..0.1:0.05"), (Texts{"-0.1", "-0.05", "0", "0.05", "0.1"}));
  EXPECT_EQ(expand_values("0.75..1.25:0.25"), (Texts{"0.75", "1", "1.25"}));
}

TEST(Axis, RangesKeepTheirUnit) {
  EXPECT_EQ(expand_values("100ms..300ms:100ms"), (Texts{"100ms", "200ms", "300ms"}));
  EXPECT_EQ(expand_values("1s..2s"), (Texts{"1s", "2s"}));
}

TEST(Axis, WrongRangesAreToldWhy) {
  EXPECT_NE(refusal_of("10..50:0").find("step is not above 0"), std::string::npos);
  EXPECT_NE(refusal_of("50..10:10").find("below the first"), std::string::npos);
  EXPECT_NE(refusal_of("10..x").find("'x' is no number"), std::string::npos);
  EXPECT_NE(refusal_of("10..50:").find("'' is no number"), std::string::npos);
  EXPECT_NE(refusal_of("1s..2ms:1s").find("different units"), std::string::npos);
  EXPECT_NE(refusal_of("1..1000000").find("more than 100000 values"), std::string::npos);
  EXPECT_NE(refusal_of("1..12345678901234567").find("is no number"), std::string::npos);
  EXPECT_NE(refusal_of("1,,2").find("comma too many"), std::string::npos);
  EXPECT_NE(refusal_of("1,2,1").find("'1' is there twice"), std::string::npos);
  EXPECT_NE(refusal_of("1..3,2").find("'2' is there twice"), std::string::npos);
}

TEST(Axis, SeedsAreWholeNumbersAndNoneTwice) {
  EXPECT_EQ(expand_seeds("1..3,7"), (std::vector<std::uint64_t>{1, 2, 3, 7}));
  EXPECT_EQ(expand_seeds("18446744073709551615").front(), ~std::uint64_t{0});
  EXPECT_THROW(expand_seeds("-1"), UsageError);
  EXPECT_THROW(expand_seeds("0.5"), UsageError);
  EXPECT_THROW(expand_seeds("one"), UsageError);
  EXPECT_THROW(expand_seeds("7,07"), UsageError);
}

TEST(Axis, QuantitiesAreNumbersWithUnits) {
  Quantity quantity;
  ASSERT_TRUE(parse_quantity("1.5 ms", quantity));
  EXPECT_EQ(quantity.number, 1.5);
  EXPECT_EQ(quantity.unit, "ms");
  EXPECT_FALSE(parse_quantity("csma", quantity));
}

TEST(Plan, CombinesWithTheLastAxisFastest) {
  const auto points = combine({}, {{"a", {"1", "2"}}, {"b", {"x", "y"}}});
  ASSERT_EQ(points.size(), 4u);
  EXPECT_EQ(text_of(points[1]), "a=1, b=y");
  EXPECT_EQ(text_of(points[2]), "a=2, b=x");
  const auto listed = combine({{{"c", "7"}}, {{"c", "8"}}}, {{"a", {"1", "2"}}});
  EXPECT_EQ(text_of(listed[2]), "c=8, a=1");
  EXPECT_EQ(combine({}, {}).size(), 1u);
  EXPECT_EQ(with_text(points[1]), "with a=1, b=y, ");
  EXPECT_EQ(with_text(combine({}, {}).front()), "");
}

TEST(Plan, RefusesMorePointsThanAnybodyWants) {
  const Axis thousand{"a", std::vector<std::string>(1000, "1")};
  EXPECT_THROW(combine({}, {thousand, thousand}), UsageError);
}

TEST(Plan, SeedsGoOnBehindTheLargest) {
  Plan plan;
  plan.seeds = {4, 9, 2};
  EXPECT_EQ(plan.seed(0), 4u);
  EXPECT_EQ(plan.seed(2), 2u);
  EXPECT_EQ(plan.seed(3), 10u);
  EXPECT_EQ(plan.seed(5), 12u);
}

}  // namespace
}  // namespace orrery::study
