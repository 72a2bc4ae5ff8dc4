// SPDX-License-Identifier: Apache-2.0
//
// What the wrappers share that needs MPI: how a request is waited for, which ranks of the world a
// communicator has, how many hops an operation may need. Compiled once for each MPI.
//
// Every wrapper calls the PMPI_ function that does the work with the arguments that it was given,
// so what they mean, and what is said of wrong ones, is up to the MPI.
#pragma once

#include <mpi.h>

#include "llf/mpi/process.h"

namespace orrery::llf::mpi {

/// Messages of up to so many bytes are complete with what their sender does alone.
inline constexpr long kEagerBytes = 4096;

/// Without a token, for calls that block inside MPI.
class Paused {
 public:
  Paused() { process().pause(); }
  Paused(const Paused&) = delete;
  Paused& operator=(const Paused&) = delete;
  ~Paused() { process().resume(); }
};

/// The ranks of the world that calls on a communicator can name: of an intercommunicator, those of
/// the other side.
struct Members {
  int count;
  bool agree;   ///< an intracommunicator, all of whose ranks are in this world and have the shim
  int world[];  ///< by rank of the communicator; negative: not in this world

  Ranks ranks() const { return {world, count}; }
};

/// Once, when MPI is initialised.
void remember_communicators();
/// Null where there are none to know.
const Members* members_of(MPI_Comm comm);

inline long bytes_of(long count, MPI_Datatype type) {
  int size = 0;
  if (count <= 0 || PMPI_Type_size(type, &size) != MPI_SUCCESS || size < 0) return 0;
  return count * size;
}
/// Of a large message: its head, the answer, and pieces.
inline unsigned hops_for(long bytes) {
  if (bytes <= kEagerBytes) return 0;
  return static_cast<unsigned>(4 + bytes / 1024 < kMostHops ? 4 + bytes / 1024 : kMostHops);
}
/// What a message to or from rank `peer` of a communicator concerns.
void tell(MPI_Comm comm, int peer, unsigned hops);

/// Until the request is complete. Returns what MPI says of it.
inline int wait_for(MPI_Request* request, bool watchful, MPI_Status* status) {
  int code = MPI_SUCCESS, complete = 0;
  process().wait_until(watchful, [&] {
    code = PMPI_Test(request, &complete, status);
    return complete != 0 || code != MPI_SUCCESS;
  });
  return code;
}

}  // namespace orrery::llf::mpi
