// SPDX-License-Identifier: Apache-2.0
//
// From reports to tables, comparisons and pictures.
#include "study/study_result.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "study/picture.h"

namespace orrery::study {
namespace {

using Json = nlohmann::ordered_json;

Json report_of(double result, double mean, std::uint64_t count) {
  const auto of_values = [&](double value) { return count > 0 ? Json(value) : Json(); };
  return {{"run", {{"committed", 100 + count}, {"fingerprint", "0123456789abcdef"}}},
          {"results",
           {{"throughput", {{"value", result}, {"unit", "Mb/s"}, {"help", "what came through"}}},
            {"net", {{"value", "a, \"b\""}, {"unit", ""}, {"help", "its name"}}}}},
          {"metrics",
           {{"stay",
             {{"unit", "s"},
              {"help", "from arrival to end"},
              {"figures",
               {{"count", ""},
                {"sum", "s"},
                {"mean", "s"},
                {"deviation", "s"},
                {"minimum", "s"},
                {"maximum", "s"}}},
              {"count", count},
              {"sum", mean * static_cast<double>(count)},
              {"mean", of_values(mean)},
              {"deviation", of_values(0.5)},
              {"minimum", of_values(0.25)},
              {"maximum", of_values(4.0)}}}}}};
}

/// load x access, three seeds; aloha is 2 less than csma, with common noise.
StudyResult small_study() {
  StudyResult study;
  study.model_name = "test";
  study.plan.parameters = {"load", "access"};
  study.plan.points = combine({}, {{"load", {"1", "2"}}, {"access", {"csma", "aloha"}}});
  study.plan.seeds = {1, 2, 3};
  const double noise[] = {0.5, -0.5, 3};
  for (std::size_t point = 0; point < 4; ++point) {
    for (std::size_t i = 0; i < 3; ++i) {
      const double value = 10.0 * static_cast<double>(1 + point / 2) + noise[i] -
                           (point % 2 == 1 ? 2 + 0.01 * static_cast<double>(i) : 0);
      study.runs.add(point, study.plan.seeds[i], report_of(value, 1.5, i));
    }
  }
  study.compared = "access";
  study.shown = {0};
  study.summary = summarise(study.plan, study.runs, 0.95);
  study.differences = compare(study.plan, study.runs, "access", 0.95);
  return study;
}

std::string cell(const std::string& path, const std::string& sql) {
  sqlite3* connection = nullptr;
  EXPECT_EQ(sqlite3_open(path.c_str(), &connection), SQLITE_OK);
  sqlite3_stmt* statement = nullptr;
  EXPECT_EQ(sqlite3_prepare_v2(connection, sql.c_str(), -1, &statement, nullptr), SQLITE_OK)
      << sqlite3_errmsg(connection);
  EXPECT_EQ(sqlite3_step(statement), SQLITE_ROW);
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, 0));
  const std::string result = text == nullptr ? "NULL" : text;
  sqlite3_finalize(statement);
  sqlite3_close(connection);
  return result;
}

/// Whatever a metric has is a measure with a unit of its own.
TEST(Records, TakeAllFiguresOfMetrics) {
  Json report = report_of(1, 2, 0);
  report["metrics"] = {{"delay",
                        {{"unit", "s"},
                         {"help", ""},
                         {"figures",
                          {{"count", ""},
                           {"mean", "s"},
                           {"p99", "s"},
                           {"p99.9", "s"},
                           {"rate", "1/s"},
                           {"sum_rate", "s/s"}}},
                         {"count", 2},
                         {"mean", 1.5},
                         {"p99", 2.0},
                         {"p99.9", nullptr},
                         {"quantile_error", 0.004},
                         {"rate", 0.25},
                         {"sum_rate", 0.5}}},
                       {"queue",
                        {{"unit", ""},
                         {"help", ""},
                         {"figures", {{"count", ""}, {"total", ""}}},
                         {"count", 0},
                         {"total", 3.5}}}};
  RunTable table;
  table.add(0, 1, report);
  const auto unit_of = [&](const char* name) {
    return table.measures().at(table.find(name).value()).unit;
  };
  EXPECT_EQ(unit_of("delay"), "s");
  EXPECT_EQ(unit_of("delay.p99"), "s");
  EXPECT_EQ(unit_of("delay.rate"), "1/s");
  EXPECT_EQ(unit_of("delay.sum_rate"), "s/s");
  EXPECT_EQ(unit_of("delay.count"), "");
  EXPECT_FALSE(table.find("delay.quantile_error").has_value());
  EXPECT_EQ(table.values(0, *table.find("delay.p99")), std::vector<double>{2.0});
  EXPECT_TRUE(table.values(0, *table.find("delay.p99.9")).empty());
  EXPECT_EQ(table.values(0, *table.find("queue.total")), std::vector<double>{3.5});
  EXPECT_EQ(value_in(report, "delay.p99"), 2.0);
}

TEST(Records, KeepTheOrderOfReportsAndKnowNames) {
  const StudyResult study = small_study();
  const auto& measures = study.runs.measures();
  ASSERT_EQ(measures.size(), 8u);
  EXPECT_EQ(measures[0].name, "throughput");
  EXPECT_EQ(measures[2].name, "stay.count");
  EXPECT_EQ(study.runs.find("throughput"), 0u);
  EXPECT_EQ(study.runs.find("stay"), 4u);
  EXPECT_EQ(study.runs.find("stay.maximum"), 7u);
  EXPECT_FALSE(study.runs.find("sta"));
  EXPECT_EQ(value_in(report_of(7, 1.5, 2), "stay"), 1.5);
  EXPECT_FALSE(value_in(report_of(7, 1.5, 2), "net"));
}

TEST(Records, AMetricWithoutValuesHasNoMean) {
  const StudyResult study = small_study();
  EXPECT_FALSE(study.runs.rows()[0].numbers[4]);
  EXPECT_EQ(study.runs.rows()[0].numbers[2], 0);
  EXPECT_EQ(study.runs.values(0, 4).size(), 2u);
  EXPECT_FALSE(value_in(report_of(7, 1.5, 0), "stay"));
}

TEST(Records, MeasuresMayComeAndGo) {
  RunTable table;
  Json first = report_of(1, 1, 1), second = report_of(2, 1, 1);
  first["results"].erase("throughput");
  second["results"]["extra"] = {{"value", nullptr}, {"unit", ""}, {"help", ""}};
  table.add(0, 1, first);
  table.add(0, 2, second);
  EXPECT_EQ(table.values(0, *table.find("throughput")), (std::vector<double>{2}));
  EXPECT_TRUE(table.values(0, *table.find("extra")).empty());
}

TEST(Summary, HasARowForEachPointAndNumber) {
  const StudyResult study = small_study();
  ASSERT_EQ(study.summary.size(), 4u * 7u);  // all but the text
  EXPECT_DOUBLE_EQ(study.summary[0].estimate.mean, 11);
  EXPECT_EQ(study.summary[0].estimate.count, 3u);
  EXPECT_EQ(study.summary[3].point, 3u);
}

TEST(Comparison, PairsRunsBySeed) {
  const StudyResult study = small_study();
  ASSERT_EQ(study.differences.size(), 2u * 7u);
  const Difference& first = study.differences[0];
  EXPECT_EQ(text_of(first.setting), "load=1");
  EXPECT_EQ(first.first, "csma");
  EXPECT_NEAR(first.estimate.mean, -2.01, 1e-12);
  EXPECT_NEAR(first.estimate.deviation, 0.01, 1e-12);  // the noise has cancelled
  EXPECT_TRUE(first.is_certain());
  EXPECT_DOUBLE_EQ(first.confidence, 0.95);
}

TEST(Comparison, OfManyValuesIsSimultaneous) {
  StudyResult study = small_study();
  study.plan.parameters = {"access"};
  study.plan.points = combine({}, {{"access", {"a", "b", "c", "d"}}});
  const auto differences = compare(study.plan, study.runs, "access", 0.94);
  ASSERT_EQ(differences.size(), 6u * 7u);
  EXPECT_NEAR(differences[0].confidence, 0.99, 1e-12);
  EXPECT_EQ(differences[5].second, "d");
}

TEST(Comparison, TakesSeedsThatBothHave) {
  StudyResult study = small_study();
  study.runs.add(3, 99, report_of(1000, 1, 1));
  const auto differences = compare(study.plan, study.runs, "access", 0.95);
  EXPECT_EQ(differences[1].estimate.count, 3u);
}

TEST(Tables, AreTidy) {
  const StudyResult study = small_study();
  std::istringstream lines(csv_of(table_of_runs(study)));
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line,
            "point,seed,load,access,events,fingerprint,throughput,net,stay.count,stay.sum,"
            "stay.mean,stay.deviation,stay.minimum,stay.maximum");
  std::getline(lines, line);
  EXPECT_EQ(line, "1,1,1,csma,100,0123456789abcdef,10.5,\"a, \"\"b\"\"\",0,0,,,,");
  std::istringstream summary(csv_of(table_of_summary(study)));
  std::getline(summary, line);
  EXPECT_EQ(line, "measure,unit,point,load,access,n,mean,deviation,half_width,low,high,confidence");
  std::istringstream comparison(csv_of(table_of_comparison(study)));
  std::getline(comparison, line);
  EXPECT_EQ(
      line,
      "measure,unit,load,first,second,n,mean,deviation,half_width,low,high,confidence,differs");
}

TEST(Tables, NamesThatAreTakenGetAPrefix) {
  PlainTable table;
  table.add_column("run", "seed", "INTEGER");
  table.add_column("parameter", "Seed", "NUMERIC");
  table.add_column("result", "seed", "REAL");
  table.add_column("parameter", "seed", "REAL");
  EXPECT_EQ(table.columns[1].name, "parameter.Seed");
  EXPECT_EQ(table.columns[2].name, "result.seed");
  EXPECT_EQ(table.columns[3].name, "parameter.parameter.seed");
}

TEST(Tables, LieInADatabaseAsNumbersAndTexts) {
  const StudyResult study = small_study();
  const std::string path =
      (std::filesystem::path(testing::TempDir()) / "orrery-study-test.sqlite").string();
  write_database(path, {table_of_runs(study), table_of_summary(study)});
  EXPECT_EQ(cell(path, "SELECT count(*) FROM runs"), "12");
  EXPECT_EQ(cell(path, "SELECT typeof(load) FROM runs"), "integer");
  EXPECT_EQ(cell(path, "SELECT typeof(access) FROM runs"), "text");
  EXPECT_EQ(cell(path, "SELECT \"stay.mean\" FROM runs WHERE seed = 1"), "NULL");
  EXPECT_EQ(cell(path, "SELECT mean FROM summary WHERE measure = 'throughput' AND point = 1"),
            "11.0");
  std::filesystem::remove(path);
  EXPECT_EQ(std::get<std::string>(whole_number(~std::uint64_t{0})), "18446744073709551615");
}

TEST(Summary, HasTheConfidenceThatARuleAsksFor) {
  StudyResult study = small_study();
  study.plan.rules.push_back(PrecisionRule::parse("throughput=0.05@0.9", 0.95));
  study.summary = summarise(study.plan, study.runs, study.confidence);
  for (const SummaryRow& row : study.summary) {
    const bool ruled = study.measure(row.measure).name == "throughput";
    EXPECT_EQ(row.confidence, ruled ? 0.9 : 0.95);
    const auto values = study.runs.values(row.point, row.measure);
    EXPECT_EQ(row.estimate.half_width, estimate(values, row.confidence).half_width);
  }
  EXPECT_EQ(Json::parse(study_json(study, {}))["summary"][0]["confidence"], 0.9);
  const std::string text = study_text(study, Terminal());
  EXPECT_NE(text.find("what came through (intervals cover the mean with 90 %)"), std::string::npos);
}

TEST(StudyJson, SaysWhatThereIs) {
  StudyResult study = small_study();
  study.plan.rules.push_back(PrecisionRule::parse("throughput=0.01", 0.95));
  study.plan.most_seeds = 1000;
  study.given_up.push_back({1, 0, 0.0316});
  study.failures.push_back({2, 0, 1, 3, "it broke"});
  const Json json = Json::parse(study_json(study, {"runs.csv"}));
  EXPECT_EQ(json["complete"], false);
  EXPECT_EQ(json["failures"][0]["point"], 3);
  EXPECT_EQ(json["given_up"][0]["reached"], 0.0316);
  EXPECT_EQ(json["points"][1]["settings"]["access"], "aloha");
  EXPECT_EQ(json["comparison"][0]["differs"], true);
  EXPECT_EQ(json["files"], (Json{"runs.csv"}));
  EXPECT_EQ(json["shown"][0], study.measure(study.shown[0]).name);
  const std::string text = study_text(study, Terminal());
  EXPECT_NE(text.find("throughput (Mb/s): what came through"), std::string::npos);
  EXPECT_NE(text.find("aloha - csma"), std::string::npos);
  EXPECT_NE(text.find("note: with load=1, access=aloha, after 1,000 replications the interval of "
                      "throughput is +/- 3.16 %, and +/- 1 % of the mean was asked for; raise "
                      "--max-seeds or ask for less"),
            std::string::npos);
  study.given_up[0].share = std::numeric_limits<double>::infinity();
  EXPECT_NE(given_up_text(study, study.given_up[0]).find("unknown, since its values do not differ"),
            std::string::npos);
  study.plan.points[1].clear();
  EXPECT_EQ(given_up_text(study, study.given_up[0]).find("after 1,000"), 0u);
}

TEST(Picture, HasALineAndABandForEachSeries) {
  StudyResult study = small_study();
  study.model_name = "a<b>&c";
  const std::string svg = picture_of(study, 0).value();
  EXPECT_TRUE(svg.starts_with("<svg xmlns="));
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  EXPECT_NE(svg.find("a&lt;b&gt;&amp;c: what came through"), std::string::npos);
  EXPECT_NE(svg.find("access=aloha"), std::string::npos);
  EXPECT_NE(svg.find("throughput (Mb/s)"), std::string::npos);
  const auto count = [&](std::string_view part) {
    int found = 0;
    for (std::size_t at = svg.find(part); at != std::string::npos; at = svg.find(part, at + 1))
      ++found;
    return found;
  };
  EXPECT_EQ(count("<polygon"), 2);
  EXPECT_EQ(count("<polyline"), 2);
  EXPECT_EQ(count("<circle"), 4);
}

TEST(Picture, PutsWordsSideBySide) {
  StudyResult study = small_study();
  study.plan.parameters = {"access"};
  study.plan.points = combine({}, {{"access", {"a", "b", "c", "d"}}});
  const std::string svg = picture_of(study, 0).value();
  EXPECT_EQ(svg.find("<polyline"), std::string::npos);
  EXPECT_NE(svg.find(">c</text>"), std::string::npos);
}

TEST(Picture, NeedsSomethingThatVaries) {
  StudyResult study = small_study();
  EXPECT_FALSE(picture_of(study, 1));  // a text
  study.plan.parameters.clear();
  study.plan.points = {{}};
  EXPECT_FALSE(picture_of(study, 0));
}

}  // namespace
}  // namespace orrery::study
