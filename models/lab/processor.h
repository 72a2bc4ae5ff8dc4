// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace orrery::lab {

/// Whether this machine can stop a program at CPUID (CPUID faulting; Intel since Ivy Bridge, AMD
/// since Zen 5, and virtual machines whose hypervisor has it): without that, kernel/processor.c
/// cannot show another processor than the machine's.
bool cpuid_can_be_hidden();

}  // namespace orrery::lab
