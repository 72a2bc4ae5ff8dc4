// SPDX-License-Identifier: Apache-2.0
//
// --snapshot-check: the proof that a model's LPs travel. Snapshots hold memory as it is, and what a
// model keeps outside of it (a global that its LPs change, an address in a library) shows only in
// another process. So the first snapshot is resumed in one, up to the time of the second, and has
// to come to the same world.
#pragma once

#include <string>

#include "snapshot/folder.h"

namespace orrery::cli {

/// Both snapshots are of that run's folder `out`, and the second is at a simulated time. Returns a
/// note; throws ModelFault if the worlds differ or the other process fails.
std::string check_snapshot(const std::string& out, unsigned first, unsigned second);

}  // namespace orrery::cli
