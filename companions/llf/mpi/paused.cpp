// SPDX-License-Identifier: Apache-2.0
//
// Calls that block inside MPI and have no non-blocking form, or one that would not match the calls
// of other ranks. They are made without a token. Such a call may spin, which takes a core from
// federates with a token, so it is as fast as without a shim; such calls are rare.
#include "llf/mpi/wrap.h"

#define BARE(...) __VA_ARGS__
#define PAUSED(Name, parameters, arguments)    \
  extern "C" int MPI_##Name(BARE parameters) { \
    const orrery::llf::mpi::Paused paused;     \
    return PMPI_##Name(BARE arguments);        \
  }

PAUSED(Comm_dup, (MPI_Comm comm, MPI_Comm* made), (comm, made))
PAUSED(Comm_dup_with_info, (MPI_Comm comm, MPI_Info info, MPI_Comm* made), (comm, info, made))
PAUSED(Comm_split, (MPI_Comm comm, int color, int key, MPI_Comm* made), (comm, color, key, made))
PAUSED(Comm_split_type, (MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm* made),
       (comm, type, key, info, made))
PAUSED(Comm_create, (MPI_Comm comm, MPI_Group group, MPI_Comm* made), (comm, group, made))
PAUSED(Comm_create_group, (MPI_Comm comm, MPI_Group group, int tag, MPI_Comm* made),
       (comm, group, tag, made))
PAUSED(Comm_free, (MPI_Comm * comm), (comm))
PAUSED(Comm_disconnect, (MPI_Comm * comm), (comm))
PAUSED(Comm_spawn,
       (const char* command, char* words[], int most, MPI_Info info, int root, MPI_Comm comm,
        MPI_Comm* made, int codes[]),
       (command, words, most, info, root, comm, made, codes))
PAUSED(Comm_spawn_multiple,
       (int count, char* commands[], char** words[], const int most[], const MPI_Info infos[],
        int root, MPI_Comm comm, MPI_Comm* made, int codes[]),
       (count, commands, words, most, infos, root, comm, made, codes))
PAUSED(Comm_accept, (const char* port, MPI_Info info, int root, MPI_Comm comm, MPI_Comm* made),
       (port, info, root, comm, made))
PAUSED(Comm_connect, (const char* port, MPI_Info info, int root, MPI_Comm comm, MPI_Comm* made),
       (port, info, root, comm, made))
PAUSED(Intercomm_create,
       (MPI_Comm local, int leader, MPI_Comm bridge, int remote, int tag, MPI_Comm* made),
       (local, leader, bridge, remote, tag, made))
PAUSED(Intercomm_merge, (MPI_Comm comm, int high, MPI_Comm* made), (comm, high, made))
PAUSED(Cart_create,
       (MPI_Comm comm, int axes, const int sizes[], const int wraps[], int reorder, MPI_Comm* made),
       (comm, axes, sizes, wraps, reorder, made))
PAUSED(Cart_sub, (MPI_Comm comm, const int kept[], MPI_Comm* made), (comm, kept, made))
PAUSED(Graph_create,
       (MPI_Comm comm, int nodes, const int index[], const int edges[], int reorder,
        MPI_Comm* made),
       (comm, nodes, index, edges, reorder, made))
PAUSED(Dist_graph_create,
       (MPI_Comm comm, int count, const int sources[], const int degrees[],
        const int destinations[], const int weights[], MPI_Info info, int reorder, MPI_Comm* made),
       (comm, count, sources, degrees, destinations, weights, info, reorder, made))
PAUSED(Dist_graph_create_adjacent,
       (MPI_Comm comm, int in_count, const int sources[], const int in_weights[], int out_count,
        const int destinations[], const int out_weights[], MPI_Info info, int reorder,
        MPI_Comm* made),
       (comm, in_count, sources, in_weights, out_count, destinations, out_weights, info, reorder,
        made))

PAUSED(Neighbor_allgather,
       (const void* out, int out_count, MPI_Datatype out_type, void* in, int in_count,
        MPI_Datatype in_type, MPI_Comm comm),
       (out, out_count, out_type, in, in_count, in_type, comm))
PAUSED(Neighbor_allgatherv,
       (const void* out, int out_count, MPI_Datatype out_type, void* in, const int counts[],
        const int places[], MPI_Datatype in_type, MPI_Comm comm),
       (out, out_count, out_type, in, counts, places, in_type, comm))
PAUSED(Neighbor_alltoall,
       (const void* out, int out_count, MPI_Datatype out_type, void* in, int in_count,
        MPI_Datatype in_type, MPI_Comm comm),
       (out, out_count, out_type, in, in_count, in_type, comm))
PAUSED(Neighbor_alltoallv,
       (const void* out, const int out_counts[], const int out_places[], MPI_Datatype out_type,
        void* in, const int in_counts[], const int in_places[], MPI_Datatype in_type,
        MPI_Comm comm),
       (out, out_counts, out_places, out_type, in, in_counts, in_places, in_type, comm))
PAUSED(Neighbor_alltoallw,
       (const void* out, const int out_counts[], const MPI_Aint out_places[],
        const MPI_Datatype out_types[], void* in, const int in_counts[], const MPI_Aint in_places[],
        const MPI_Datatype in_types[], MPI_Comm comm),
       (out, out_counts, out_places, out_types, in, in_counts, in_places, in_types, comm))

PAUSED(Win_create,
       (void* base, MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm comm, MPI_Win* made),
       (base, bytes, unit, info, comm, made))
PAUSED(Win_allocate,
       (MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm comm, void* base, MPI_Win* made),
       (bytes, unit, info, comm, base, made))
PAUSED(Win_allocate_shared,
       (MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm comm, void* base, MPI_Win* made),
       (bytes, unit, info, comm, base, made))
PAUSED(Win_create_dynamic, (MPI_Info info, MPI_Comm comm, MPI_Win* made), (info, comm, made))
PAUSED(Win_free, (MPI_Win * win), (win))
PAUSED(Win_fence, (int assertion, MPI_Win win), (assertion, win))
PAUSED(Win_start, (MPI_Group group, int assertion, MPI_Win win), (group, assertion, win))
PAUSED(Win_complete, (MPI_Win win), (win))
PAUSED(Win_wait, (MPI_Win win), (win))
PAUSED(Win_lock, (int kind, int rank, int assertion, MPI_Win win), (kind, rank, assertion, win))
PAUSED(Win_lock_all, (int assertion, MPI_Win win), (assertion, win))
PAUSED(Win_unlock, (int rank, MPI_Win win), (rank, win))
PAUSED(Win_unlock_all, (MPI_Win win), (win))
PAUSED(Win_flush, (int rank, MPI_Win win), (rank, win))
PAUSED(Win_flush_all, (MPI_Win win), (win))

PAUSED(File_open, (MPI_Comm comm, const char* name, int mode, MPI_Info info, MPI_File* file),
       (comm, name, mode, info, file))
PAUSED(File_close, (MPI_File * file), (file))
PAUSED(File_read_all,
       (MPI_File file, void* buffer, int count, MPI_Datatype type, MPI_Status* status),
       (file, buffer, count, type, status))
PAUSED(File_write_all,
       (MPI_File file, const void* buffer, int count, MPI_Datatype type, MPI_Status* status),
       (file, buffer, count, type, status))
PAUSED(File_read_at_all,
       (MPI_File file, MPI_Offset place, void* buffer, int count, MPI_Datatype type,
        MPI_Status* status),
       (file, place, buffer, count, type, status))
PAUSED(File_write_at_all,
       (MPI_File file, MPI_Offset place, const void* buffer, int count, MPI_Datatype type,
        MPI_Status* status),
       (file, place, buffer, count, type, status))
PAUSED(File_sync, (MPI_File file), (file))
