// SPDX-License-Identifier: Apache-2.0
//
// --snapshot-check: tests that a model's LPs can be resumed in another process. Snapshots hold
// memory as it is. State that a model keeps outside of this memory (a global that its LPs change,
// an address in a library) is wrong only in another process. So the check resumes the first
// snapshot in another process, up to the time of the second, and both worlds have to be equal.
#pragma once

#include <string>

#include "snapshot/folder.h"

namespace orrery::cli {

/// Both snapshots are in the run's folder `out`, and the second is at a simulated time. Returns a
/// note; throws ModelFault if the worlds differ or the other process fails.
std::string check_snapshot(const std::string& out, unsigned first, unsigned second);

}  // namespace orrery::cli
