// SPDX-License-Identifier: Apache-2.0
//
// The code of the wrappers that depends on MPI: how to wait for a request, which world ranks a
// communicator has, how many hops an operation may need. Compiled once for each MPI.
//
// Every wrapper passes its own arguments to the PMPI_ function that does the work, so the MPI
// defines their meaning and the errors for wrong ones.
#pragma once

#include <mpi.h>

#include "llf/mpi/process.h"

namespace orrery::llf::mpi {

/// For messages of at most so many bytes, the send completes without the receiver.
inline constexpr long kEagerBytes = 4096;

/// Gives the token away during its lifetime, for calls that block inside MPI.
class Paused {
 public:
  Paused() { process().pause(); }
  Paused(const Paused&) = delete;
  Paused& operator=(const Paused&) = delete;
  ~Paused() { process().resume(); }
};

/// The world ranks that calls on a communicator can name; for an intercommunicator, those of the
/// remote group.
struct Members {
  int count;
  bool agree;   ///< an intracommunicator, all of whose ranks are in this world and have the shim
  int world[];  ///< by rank of the communicator; negative: not in this world

  Ranks ranks() const { return {world, count}; }
};

/// Call it once, when MPI is initialised.
void remember_communicators();
/// Null for MPI_COMM_NULL, and if members cannot be stored.
const Members* members_of(MPI_Comm comm);

inline long bytes_of(long count, MPI_Datatype type) {
  int size = 0;
  if (count <= 0 || PMPI_Type_size(type, &size) != MPI_SUCCESS || size < 0) return 0;
  return count * size;
}
/// Hops of a large message: its head, the answer, and its pieces.
inline unsigned hops_for(long bytes) {
  if (bytes <= kEagerBytes) return 0;
  return static_cast<unsigned>(4 + bytes / 1024 < kMostHops ? 4 + bytes / 1024 : kMostHops);
}
/// Announces a message to or from rank `peer` of a communicator.
void tell(MPI_Comm comm, int peer, unsigned hops);

/// Waits until the request is complete. Returns the code of PMPI_Test.
inline int wait_for(MPI_Request* request, bool watchful, MPI_Status* status) {
  int code = MPI_SUCCESS, complete = 0;
  process().wait_until(watchful, [&] {
    code = PMPI_Test(request, &complete, status);
    return complete != 0 || code != MPI_SUCCESS;
  });
  return code;
}

}  // namespace orrery::llf::mpi
