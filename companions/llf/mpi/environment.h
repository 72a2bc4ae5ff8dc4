// SPDX-License-Identifier: Apache-2.0
//
// Environment variables by which `orrery llf run` controls the processes that it starts. Without
// the first one the shim does nothing.
#pragma once

namespace orrery::llf::mpi {

inline constexpr const char* kGroup = "ORRERY_LLF_GROUP";
inline constexpr const char* kTokens = "ORRERY_LLF_TOKENS";
/// A file that exists until a process joins.
inline constexpr const char* kUnusedMark = "ORRERY_LLF_UNUSED";

}  // namespace orrery::llf::mpi
