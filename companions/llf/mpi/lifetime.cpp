// SPDX-License-Identifier: Apache-2.0
//
// A rank joins before MPI is initialised and leaves after it was finalised. Both calls block,
// without tokens, until all ranks are there. So after MPI_Init a rank finds in the group all ranks
// of this machine that will ever be there, and all ranks find the same.
#include "llf/mpi/wrap.h"

using namespace orrery::llf::mpi;

namespace {

int begin(int code) {
  if (code != MPI_SUCCESS) {
    process().leave();
    return code;
  }
  int rank = 0, ranks = 1;
  MPI_Comm parent = MPI_COMM_NULL;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
  PMPI_Comm_get_parent(&parent);
  process().begin(rank, ranks, parent != MPI_COMM_NULL);
  if (process().takes_part()) remember_communicators();
  return code;
}

}  // namespace

extern "C" {

int MPI_Init(int* count, char*** words) {
  process().join();
  return begin(PMPI_Init(count, words));
}
int MPI_Init_thread(int* count, char*** words, int required, int* provided) {
  process().join();
  return begin(PMPI_Init_thread(count, words, required, provided));
}
int MPI_Finalize() {
  process().pause();
  const int code = PMPI_Finalize();
  process().leave();
  return code;
}
}
