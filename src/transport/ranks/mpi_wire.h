// SPDX-License-Identifier: Apache-2.0
//
// Connects ranks that an MPI launcher has started, on one machine or on many. The variables that
// launchers set say whether there is one, and which MPI; that library is then loaded
// (mpi_plugin.h). Each parcel is one message. Only few parcels to each rank are on the way at a
// time and the others wait here, so that a slow receiver does not fill the library's buffers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "transport/ranks/wire.h"

namespace orrery::transport {

/// The launcher that started this process, according to the environment.
struct MpiEnvironment {
  bool openmpi = false;  ///< OMPI_* or PMIX_*
  bool mpich = false;    ///< PMI_*
  unsigned ranks = 0;    ///< number of ranks it has started; 0: unknown

  bool any() const { return openmpi || mpich; }
  static MpiEnvironment now();
  /// The environment without these variables, for a child process that is no rank.
  static std::vector<char*> left_out();
};

/// Loads the library, "openmpi" or "mpich", and begins. Throws RankFailure with the remedy.
std::unique_ptr<Wire> join_mpi(const std::string& library);

}  // namespace orrery::transport
