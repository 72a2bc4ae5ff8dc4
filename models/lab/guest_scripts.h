// SPDX-License-Identifier: Apache-2.0
//
// The scripts in models/lab/guest, which travel in the command.
#pragma once

namespace orrery::lab {

extern const char* const kEnterScript;
extern const char* const kInitScript;

}  // namespace orrery::lab
