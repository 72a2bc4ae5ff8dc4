// SPDX-License-Identifier: Apache-2.0
//
// The script models/lab/guest/init, which travels in the command.
#pragma once

namespace orrery::lab {

extern const char* const kInitScript;

}  // namespace orrery::lab
