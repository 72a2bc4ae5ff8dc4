// SPDX-License-Identifier: Apache-2.0
//
// The summary of a run on the terminal, made from the same record as the report.
#pragma once

#include <string>

#include "output/run_record.h"
#include "output/terminal.h"

namespace orrery {

/// `results` shows only a sentence about the engine's work; `figures` adds the engine's statistics.
enum class Detail { results, figures };

std::string summary_text(const RunRecord& record, const Terminal& terminal, Detail detail);

}  // namespace orrery
