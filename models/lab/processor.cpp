// SPDX-License-Identifier: Apache-2.0
#include "processor.h"

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

namespace orrery::lab {

/// The call asks to permit CPUID, which is the default; it fails if the machine cannot trap CPUID.
bool cpuid_can_be_hidden() {
  constexpr int kSetCpuid = 0x1012;
  return syscall(SYS_arch_prctl, kSetCpuid, 1) == 0;
}

namespace {

/// Whether LSL shows the core: Linux keeps its number in the limit of a segment (vDSO, getcpu; entry
/// CPUNODE of the GDT).
bool segment_shows_core() {
  constexpr unsigned long kSelector = 0x7b;
  unsigned long limit = 0;
  bool valid = false;
  asm volatile("lsl %2, %0" : "+r"(limit), "=@ccz"(valid) : "r"(kSelector));
  return valid;
}

}  // namespace

/// Intel, Software Developer's Manual, volume 2, CPUID, leaves 1 and 7.
std::string showing_instructions() {
  unsigned eax = 0, ebx = 0, basic = 0, edx = 0, seed = 0, extended = 0;
  __get_cpuid(1, &eax, &ebx, &basic, &edx);
  __get_cpuid_count(7, 0, &eax, &seed, &extended, &edx);
  std::string text = cpuid_can_be_hidden() ? "" : "CPUID, ";
  if (segment_shows_core()) text += "LSL, ";
  if ((extended >> 22 & 1) != 0) text += "RDPID, ";
  if ((basic >> 30 & 1) != 0) text += "RDRAND, ";
  if ((seed >> 18 & 1) != 0) text += "RDSEED, ";
  if ((basic >> 27 & 1) != 0) text += "XGETBV, ";
  return text.substr(0, text.size() - std::min<std::size_t>(text.size(), 2));
}

}  // namespace orrery::lab
