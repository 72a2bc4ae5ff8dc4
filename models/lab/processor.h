// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace orrery::lab {

/// Whether this machine can stop a program at CPUID (CPUID faulting; Intel since Ivy Bridge, AMD
/// since Zen 5, and virtual machines whose hypervisor has it): without that, kernel/lab.c
/// cannot show another processor than the machine's.
bool cpuid_can_be_hidden();

/// Instructions with which a host's program can learn something of this machine's processor:
/// "CPUID, RDPID, XGETBV"; nothing can hide those but CPUID.
std::string showing_instructions();

}  // namespace orrery::lab
