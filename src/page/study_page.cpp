// SPDX-License-Identifier: Apache-2.0
#include "page/study_page.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <vector>

#include "orrery/error.h"
#include "output/number_text.h"
#include "output/output_folder.h"
#include "page/document.h"
#include "page/markup.h"
#include "page/pictures.h"
#include "page/run_folder.h"

namespace orrery::page {
namespace fs = std::filesystem;
namespace {

std::string joined(const Json& object) {
  std::string text;
  if (object.is_object())
    for (const auto& [name, value] : object.items())
      text += (text.empty() ? "" : ", ") + name + "=" + value_text(value);
  return text;
}

std::string list_text(const Json& list) {
  std::string text;
  if (list.is_array())
    for (const Json& one : list) text += (text.empty() ? "" : " ") + exact_text(one);
  return text;
}

std::string plan_markup(const Json& study, const std::string& path) {
  std::string text = "<dl>\n";
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) text += fmt::format("<dt>{}</dt><dd>{}</dd>\n", name, escaped(value));
  };
  const Json& plan = at(study, {"plan"});
  add("model", text_at(study, {"model", "name"}));
  add("varied", list_text(at(plan, {"parameters"})));
  add("shared settings", joined(at(plan, {"settings"})));
  add("options", list_text(at(plan, {"options"})));
  add("seeds", list_text(at(plan, {"seeds"})));
  add("until precision", list_text(at(plan, {"until_precision"})));
  add("points", std::to_string(at(study, {"points"}).size()));
  add("confidence", exact_text(at(study, {"confidence"})));
  add("orrery",
      text_at(study, {"orrery", "version"}) + ", build " + text_at(study, {"orrery", "build"}));
  add("folder", path);
  return text + "</dl>\n";
}

std::string half_width_text(double half) {
  return half < 100 ? fmt::format("{:.2g}", half) : number_text(std::round(half));
}

/// "0.123 +/- 0.004" for each point, by measure.
std::map<std::string, std::map<int, Cell>> summaries(const Json& study) {
  std::map<std::string, std::map<int, Cell>> all;
  for (const Json& row : at(study, {"summary"})) {
    const int point = static_cast<int>(number_at(row, {"point"}).value_or(0));
    Cell cell = value_cell(at(row, {"mean"}));
    if (const auto half = number_at(row, {"half_width"}))
      cell.markup += escaped(" ± " + half_width_text(*half));
    all[text_at(row, {"measure"})][point] = cell;
  }
  return all;
}

/// Whether the measure is one that --show names, or a default. Older studies show every measure.
bool is_shown(const Json& study, const std::string& measure) {
  const Json& shown = at(study, {"shown"});
  return !shown.is_array() || std::find(shown.begin(), shown.end(), measure) != shown.end();
}

/// Points are columns if they are few, so that a reader compares measures along a row.
std::string measures_table(const Json& study, bool shown) {
  std::vector<Cell> headings = {text_cell("measure")};
  for (const Json& point : at(study, {"points"})) {
    const std::string settings = joined(at(point, {"settings"}));
    headings.push_back(number_cell(settings.empty() ? "mean" : settings));
  }
  TableMarkup table(headings);
  const auto all = summaries(study);
  const Json& measures = at(study, {"measures"});
  if (!measures.is_object()) return "";
  for (const auto& [name, measure] : measures.items()) {
    const auto found = all.find(name);
    if (found == all.end() || is_shown(study, name) != shown) continue;
    const std::string unit = text_at(measure, {"unit"});
    std::vector<Cell> cells = {
        text_cell(unit.empty() || unit == "1" ? name : fmt::format("{} ({})", name, unit))};
    for (const Json& point : at(study, {"points"})) {
      const int number = static_cast<int>(number_at(point, {"point"}).value_or(0));
      const auto cell = found->second.find(number);
      cells.push_back(cell == found->second.end() ? number_cell("-") : cell->second);
    }
    table.add(cells);
  }
  return table.empty() ? "" : table.text();
}

std::string comparison_markup(const Json& study) {
  TableMarkup table({text_cell("measure"), text_cell("settings"), text_cell("difference of"),
                     number_cell("mean"), number_cell("half width"), text_cell("differs")});
  for (const Json& row : at(study, {"comparison"})) {
    if (!is_shown(study, text_at(row, {"measure"}))) continue;
    table.add({text_cell(text_at(row, {"measure"})), text_cell(joined(at(row, {"settings"}))),
               text_cell(value_text(at(row, {"second"})) + " - " + value_text(at(row, {"first"}))),
               value_cell(at(row, {"mean"})), value_cell(at(row, {"half_width"})),
               text_cell(value_text(at(row, {"differs"})))});
  }
  return table.empty() ? "" : table.text();
}

std::string failures_markup(const Json& study) {
  TableMarkup table({number_cell("point"), number_cell("seed"), text_cell("what happened")});
  for (const Json& one : at(study, {"failures"}))
    table.add({value_cell(at(one, {"point"})), number_cell(exact_text(at(one, {"seed"}))),
               text_cell(text_at(one, {"sentence"}))});
  return table.empty() ? "" : table.text();
}

std::string study_head(const Json& study) {
  std::string text =
      fmt::format("<h1>A study of {}</h1>\n", escaped(text_at(study, {"model", "name"})));
  if (at(study, {"complete"}) != true)
    text += fmt::format(
        "<p class=\"warn\">{} of this study&#39;s runs failed; what is shown is of "
        "the others.</p>\n",
        at(study, {"failures"}).size());
  return text;
}

}  // namespace

bool is_study(const std::string& path) {
  std::error_code unknown;
  return fs::exists(fs::path(path) / kPlanName, unknown) ||
         fs::exists(fs::path(path) / kStudyName, unknown);
}

std::string page_of_study(const std::string& path) {
  const fs::path file = fs::path(path) / kStudyName;
  if (std::error_code unknown; !fs::exists(file, unknown))
    throw UsageError(
        fmt::format("the study in '{}' is not over: it has no {} yet; the command that began it "
                    "goes on with it",
                    path, kStudyName));
  const Json json = read_json(file.string());
  if (!at(json, {"plan"}).is_object() || !at(json, {"summary"}).is_array())
    throw UsageError(fmt::format("'{}' is not the file of a study", file.string()));
  std::vector<std::string> remarks;
  const std::vector<Picture> pictures = read_pictures(path, remarks);
  std::string remarks_markup;
  for (const std::string& remark : remarks)
    remarks_markup += fmt::format("<p class=\"note\">{}</p>\n", escaped(remark));
  const std::string title = fmt::format("{}: {}", text_at(json, {"model", "name"}), path);
  return document_of(title, study_head(json),
                     {{"Study", plan_markup(json, path)},
                      {"Runs that failed", failures_markup(json)},
                      {"Remarks", remarks_markup},
                      {"Pictures", pictures_markup(pictures)},
                      {"Comparison", comparison_markup(json)},
                      {"Means at each point", measures_table(json, true)},
                      {"Means of other measures", measures_table(json, false)}});
}

}  // namespace orrery::page
