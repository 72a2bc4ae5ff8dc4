// SPDX-License-Identifier: Apache-2.0
//
// Ranks that an MPI launcher has started, on one machine or on many. Which MPI, and whether there
// is one, is told by the variables that launchers set; the library is loaded then (mpi_plugin.h).
// Parcels travel as messages of their own: few at a time for each rank, the rest waits here, so
// that a rank that is slow to receive fills no buffers of the library.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "transport/ranks/wire.h"

namespace orrery::transport {

/// What the environment of this process says of the launcher that started it.
struct MpiEnvironment {
  bool openmpi = false;  ///< OMPI_* or PMIX_*
  bool mpich = false;    ///< PMI_*
  unsigned ranks = 0;    ///< that it has started; 0: it does not say

  bool any() const { return openmpi || mpich; }
  static MpiEnvironment now();
  /// What a process that this one starts sees instead, if it is no rank.
  static std::vector<char*> left_out();
};

/// Loads the library, "openmpi" or "mpich", and begins. Throws RankFailure, with what to do.
std::unique_ptr<Wire> join_mpi(const std::string& library);

}  // namespace orrery::transport
