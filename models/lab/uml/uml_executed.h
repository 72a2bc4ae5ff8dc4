// SPDX-License-Identifier: Apache-2.0
//
// Reads the list of executed files that a host's kernel has written (kernel/lab_executed.c).
//
// The list comes from a guest, which is not trusted. A path from the list is looked up only below
// folders that the guest could see, and files that a guest could have changed are not read.
#pragma once

#include "../executed.h"
#include "../topology.h"
#include "uml_settings.h"

namespace orrery::lab {

/// Adds the files of a host that has ended.
void add_uml_executed(const Host& host, const UmlSettings& settings, ExecutedFiles& to);

}  // namespace orrery::lab
