// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/run_request.h"

namespace orrery::cli {

/// `orrery describe MODEL --measure`. Returns the exit code.
int measure(const RunRequest& request, const OutputRequest& output);

}  // namespace orrery::cli
