// SPDX-License-Identifier: Apache-2.0
//
// What `orrery llf run` tells the processes that it starts, by variables of their environment. The
// shim does nothing without the first.
#pragma once

namespace orrery::llf::mpi {

inline constexpr const char* kGroup = "ORRERY_LLF_GROUP";
inline constexpr const char* kTokens = "ORRERY_LLF_TOKENS";
/// A file that is there until a process joins.
inline constexpr const char* kUnusedMark = "ORRERY_LLF_UNUSED";

}  // namespace orrery::llf::mpi
