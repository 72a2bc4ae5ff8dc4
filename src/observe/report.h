// SPDX-License-Identifier: Apache-2.0
//
// report.json: everything about a run that a program may want to read. docs/report.md describes the
// fields; a change of their meaning raises kReportSchema.
#pragma once

#include <string>

#include "observe/run_record.h"

namespace orrery {

inline constexpr int kReportSchema = 1;

/// The report as indented JSON with a newline at its end.
std::string report_json(const RunRecord& record);

}  // namespace orrery
