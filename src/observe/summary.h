// SPDX-License-Identifier: Apache-2.0
//
// What a run says on the terminal when it is over: the same record as the report, for eyes.
#pragma once

#include <string>

#include "observe/run_record.h"
#include "observe/terminal.h"

namespace orrery {

/// Of the engine's figures only what they come to; the figures themselves in detail.
enum class Detail { results, figures };

std::string summary_text(const RunRecord& record, const Terminal& terminal, Detail detail);

}  // namespace orrery
