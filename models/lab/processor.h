// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace orrery::lab {

/// Whether this machine can trap CPUID (CPUID faulting; Intel since Ivy Bridge, AMD since Zen 5,
/// and virtual machines whose hypervisor has it). Otherwise kernel/lab.c cannot show a processor
/// other than the machine's.
bool cpuid_can_be_hidden();

/// Instructions that reveal properties of this machine's processor to programs of a host: "CPUID,
/// LSL, RDPID, XGETBV". Only CPUID can be hidden.
std::string showing_instructions();

}  // namespace orrery::lab
