// SPDX-License-Identifier: Apache-2.0
//
// report.json: everything about a run that a program may want to read. docs/report.md describes the
// fields, and report.schema.json is the JSON Schema of them. A change of their meaning raises
// kReportSchema. Readers accept the last two versions.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "output/run_record.h"

namespace orrery {

inline constexpr int kReportSchema = 2, kOldestReportSchema = 1;

/// The version of a parsed report; 0 if it has none.
int report_schema(const nlohmann::ordered_json& report);

/// A parameter's text as the JSON type of the parameter. Durations stay text ("10 ms"), since their
/// unit is part of them.
nlohmann::ordered_json typed_json(const std::string& type, const std::string& text);

/// Parts of the report, for live pages, which show them before the run has ended.
nlohmann::ordered_json report_parameters(const Model& model);
nlohmann::ordered_json report_options(const RunRecord& record);
nlohmann::ordered_json report_metrics(const RunRecord& record);
nlohmann::ordered_json report_progress(const std::vector<ProgressPoint>& points);

/// The report as indented JSON with a newline at its end.
std::string report_json(const RunRecord& record);

}  // namespace orrery
