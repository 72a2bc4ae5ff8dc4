// SPDX-License-Identifier: Apache-2.0
//
// The wrapped functions of MPI, each with its number of arguments. This one list keeps three places
// equal: the stub that programs call (stub.cpp), the table between stub and shim, and the shims
// (table.cpp).
//
// The stub requires that all arguments are integers and pointers.
#pragma once

// clang-format off
#define ORRERY_LLF_MPI_FUNCTIONS(X) \
  /* lifetime.cpp */ \
  X(MPI_Init, 2) X(MPI_Init_thread, 4) X(MPI_Finalize, 0) \
  /* point_to_point.cpp */ \
  X(MPI_Send, 6) X(MPI_Ssend, 6) X(MPI_Rsend, 6) X(MPI_Bsend, 6) \
  X(MPI_Isend, 7) X(MPI_Issend, 7) X(MPI_Irsend, 7) X(MPI_Ibsend, 7) \
  X(MPI_Send_init, 7) X(MPI_Ssend_init, 7) X(MPI_Rsend_init, 7) X(MPI_Bsend_init, 7) \
  X(MPI_Start, 1) X(MPI_Startall, 2) X(MPI_Request_free, 1) \
  X(MPI_Recv, 7) X(MPI_Mrecv, 5) X(MPI_Sendrecv, 12) X(MPI_Sendrecv_replace, 9) \
  X(MPI_Probe, 4) X(MPI_Mprobe, 5) \
  /* completion.cpp */ \
  X(MPI_Wait, 2) X(MPI_Waitall, 3) X(MPI_Waitany, 4) X(MPI_Waitsome, 5) \
  X(MPI_Test, 3) X(MPI_Testall, 4) X(MPI_Testany, 5) X(MPI_Testsome, 5) \
  X(MPI_Request_get_status, 3) X(MPI_Iprobe, 5) X(MPI_Improbe, 6) \
  /* collectives.cpp */ \
  X(MPI_Barrier, 1) X(MPI_Bcast, 5) X(MPI_Reduce, 7) X(MPI_Allreduce, 6) \
  X(MPI_Gather, 8) X(MPI_Gatherv, 9) X(MPI_Scatter, 8) X(MPI_Scatterv, 9) \
  X(MPI_Allgather, 7) X(MPI_Allgatherv, 8) X(MPI_Alltoall, 7) X(MPI_Alltoallv, 9) \
  X(MPI_Alltoallw, 9) X(MPI_Reduce_scatter, 6) X(MPI_Reduce_scatter_block, 6) \
  X(MPI_Scan, 6) X(MPI_Exscan, 6) \
  X(MPI_Ibarrier, 2) X(MPI_Ibcast, 6) X(MPI_Ireduce, 8) X(MPI_Iallreduce, 7) \
  X(MPI_Igather, 9) X(MPI_Igatherv, 10) X(MPI_Iscatter, 9) X(MPI_Iscatterv, 10) \
  X(MPI_Iallgather, 8) X(MPI_Iallgatherv, 9) X(MPI_Ialltoall, 8) X(MPI_Ialltoallv, 10) \
  X(MPI_Ialltoallw, 10) X(MPI_Ireduce_scatter, 7) X(MPI_Ireduce_scatter_block, 7) \
  X(MPI_Iscan, 7) X(MPI_Iexscan, 7) \
  /* paused.cpp */ \
  X(MPI_Comm_dup, 2) X(MPI_Comm_dup_with_info, 3) X(MPI_Comm_split, 4) X(MPI_Comm_split_type, 5) \
  X(MPI_Comm_create, 3) X(MPI_Comm_create_group, 4) X(MPI_Comm_free, 1) \
  X(MPI_Comm_disconnect, 1) X(MPI_Comm_spawn, 8) X(MPI_Comm_spawn_multiple, 9) \
  X(MPI_Comm_accept, 5) X(MPI_Comm_connect, 5) X(MPI_Intercomm_create, 6) \
  X(MPI_Intercomm_merge, 3) X(MPI_Cart_create, 6) X(MPI_Cart_sub, 3) X(MPI_Graph_create, 6) \
  X(MPI_Dist_graph_create, 9) X(MPI_Dist_graph_create_adjacent, 10) \
  X(MPI_Neighbor_allgather, 7) X(MPI_Neighbor_allgatherv, 8) X(MPI_Neighbor_alltoall, 7) \
  X(MPI_Neighbor_alltoallv, 9) X(MPI_Neighbor_alltoallw, 9) \
  X(MPI_Win_create, 6) X(MPI_Win_allocate, 6) X(MPI_Win_allocate_shared, 6) \
  X(MPI_Win_create_dynamic, 3) X(MPI_Win_free, 1) X(MPI_Win_fence, 2) X(MPI_Win_start, 3) \
  X(MPI_Win_complete, 1) X(MPI_Win_wait, 1) X(MPI_Win_lock, 4) X(MPI_Win_lock_all, 2) \
  X(MPI_Win_unlock, 2) X(MPI_Win_unlock_all, 1) X(MPI_Win_flush, 2) X(MPI_Win_flush_all, 1) \
  X(MPI_File_open, 5) X(MPI_File_close, 1) X(MPI_File_read_all, 5) X(MPI_File_write_all, 5) \
  X(MPI_File_read_at_all, 6) X(MPI_File_write_at_all, 6) X(MPI_File_sync, 1)
// clang-format on

namespace orrery::llf::mpi {

enum Function : int {
#define ORRERY_LLF_NUMBER(name, arguments) k##name,
  ORRERY_LLF_MPI_FUNCTIONS(ORRERY_LLF_NUMBER)
#undef ORRERY_LLF_NUMBER
      kFunctions
};

/// The functions of a shim. `orrery_llf_mpi`, a function without arguments, returns the table to
/// the stub.
struct Table {
  int functions;  ///< kFunctions when the shim was built
  void (*function[kFunctions])();
};
inline constexpr const char* kTableSymbol = "orrery_llf_mpi";
using GetTable = const Table* (*)();

}  // namespace orrery::llf::mpi
