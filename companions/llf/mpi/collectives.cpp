// SPDX-License-Identifier: Apache-2.0
//
// Collective operations, by their non-blocking forms, for which a rank can wait without a token.
//
// A blocking collective operation does not match a non-blocking one, so all ranks of a communicator
// must use the same form. The non-blocking form is used if all its ranks are of this process' world
// and all ranks of that world are in the group; all ranks have the same answer since MPI_Init
// (lifetime.cpp). Otherwise, on several machines and between parents and spawned processes, the
// blocking form is called, without a token.
//
// Each rank that begins makes the others test again, and so does each rank that has tested, for as
// many rounds as the operation may have: there and back through a tree, and pieces if it moves much
// data.
#include "llf/mpi/wrap.h"

using namespace orrery::llf::mpi;

namespace {

unsigned hops_among(const Members& members, long bytes) {
  unsigned rounds = 2;
  for (int reached = 1; reached < members.count; reached *= 2) rounds += 2;
  return rounds + orrery::llf::mpi::hops_for(bytes);
}

/// `begin`: the non-blocking form, `block`: the blocking one, `bytes`: moved at one rank.
template <class Begin, class Block, class Bytes>
int collective(MPI_Comm comm, Begin begin, Block block, Bytes bytes) {
  if (!process().takes_part()) return block();
  const Members* members = members_of(comm);
  if (members == nullptr || !members->agree) {
    const Paused paused;
    return block();
  }
  if (members->count < 2) return block();
  MPI_Request request;
  const int code = begin(&request);
  if (code != MPI_SUCCESS) return code;
  process().tell_watchful(members->ranks(), hops_among(*members, bytes()));
  return wait_for(&request, true, MPI_STATUS_IGNORE);
}

/// Announces a non-blocking form that the program has called itself.
template <class Bytes>
int begun(int code, MPI_Comm comm, Bytes bytes) {
  if (code != MPI_SUCCESS || !process().takes_part()) return code;
  const Members* members = members_of(comm);
  if (members == nullptr || members->count < 2) return code;
  process().tell_watchful(members->ranks(), hops_among(*members, bytes()));
  process().pass();
  return code;
}

/// The bytes of several blocks of different sizes.
long sum_of(const int* counts, MPI_Comm comm, MPI_Datatype type) {
  int ranks = 0;
  long count = 0;
  PMPI_Comm_size(comm, &ranks);
  for (int i = 0; i < ranks; ++i) count += counts[i];
  return bytes_of(count, type);
}

long of_all(MPI_Comm comm, long count, MPI_Datatype type) {
  int ranks = 0;
  PMPI_Comm_size(comm, &ranks);
  return bytes_of(count * ranks, type);
}

}  // namespace

#define BARE(...) __VA_ARGS__
// NAME and its non-blocking form: parameters, arguments, bytes.
#define COLLECTIVE(Name, IName, parameters, arguments, bytes)                                   \
  extern "C" int MPI_##Name(BARE parameters) {                                                  \
    return collective(                                                                          \
        comm, [&](MPI_Request* request) { return PMPI_##IName(BARE arguments, request); },      \
        [&] { return PMPI_##Name(BARE arguments); }, [&]() -> long { return bytes; });          \
  }                                                                                             \
  extern "C" int MPI_##IName(BARE parameters, MPI_Request* request) {                           \
    return begun(PMPI_##IName(BARE arguments, request), comm, [&]() -> long { return bytes; }); \
  }

COLLECTIVE(Barrier, Ibarrier, (MPI_Comm comm), (comm), 0)
COLLECTIVE(Bcast, Ibcast, (void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm),
           (buffer, count, type, root, comm), bytes_of(count, type))
COLLECTIVE(Reduce, Ireduce,
           (const void* out, void* in, int count, MPI_Datatype type, MPI_Op op, int root,
            MPI_Comm comm),
           (out, in, count, type, op, root, comm), bytes_of(count, type))
COLLECTIVE(Allreduce, Iallreduce,
           (const void* out, void* in, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
           (out, in, count, type, op, comm), bytes_of(count, type))
COLLECTIVE(Scan, Iscan,
           (const void* out, void* in, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
           (out, in, count, type, op, comm), bytes_of(count, type))
COLLECTIVE(Exscan, Iexscan,
           (const void* out, void* in, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
           (out, in, count, type, op, comm), bytes_of(count, type))
COLLECTIVE(Reduce_scatter, Ireduce_scatter,
           (const void* out, void* in, const int counts[], MPI_Datatype type, MPI_Op op,
            MPI_Comm comm),
           (out, in, counts, type, op, comm), sum_of(counts, comm, type))
COLLECTIVE(Reduce_scatter_block, Ireduce_scatter_block,
           (const void* out, void* in, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
           (out, in, count, type, op, comm), of_all(comm, count, type))

// The byte counts use no argument that is significant only at the root, or that MPI_IN_PLACE makes
// insignificant.
COLLECTIVE(Gather, Igather,
           (const void* out, int out_count, MPI_Datatype out_type, void* in, int in_count,
            MPI_Datatype in_type, int root, MPI_Comm comm),
           (out, out_count, out_type, in, in_count, in_type, root, comm),
           out == MPI_IN_PLACE ? of_all(comm, in_count, in_type)
                               : of_all(comm, out_count, out_type))
COLLECTIVE(Gatherv, Igatherv,
           (const void* out, int out_count, MPI_Datatype out_type, void* in, const int counts[],
            const int places[], MPI_Datatype in_type, int root, MPI_Comm comm),
           (out, out_count, out_type, in, counts, places, in_type, root, comm),
           out == MPI_IN_PLACE ? sum_of(counts, comm, in_type) : of_all(comm, out_count, out_type))
COLLECTIVE(Scatter, Iscatter,
           (const void* out, int out_count, MPI_Datatype out_type, void* in, int in_count,
            MPI_Datatype in_type, int root, MPI_Comm comm),
           (out, out_count, out_type, in, in_count, in_type, root, comm),
           in == MPI_IN_PLACE ? of_all(comm, out_count, out_type) : of_all(comm, in_count, in_type))
COLLECTIVE(Scatterv, Iscatterv,
           (const void* out, const int counts[], const int places[], MPI_Datatype out_type,
            void* in, int in_count, MPI_Datatype in_type, int root, MPI_Comm comm),
           (out, counts, places, out_type, in, in_count, in_type, root, comm),
           in == MPI_IN_PLACE ? sum_of(counts, comm, out_type) : of_all(comm, in_count, in_type))
COLLECTIVE(Allgather, Iallgather,
           (const void* out, int out_count, MPI_Datatype out_type, void* in, int in_count,
            MPI_Datatype in_type, MPI_Comm comm),
           (out, out_count, out_type, in, in_count, in_type, comm), of_all(comm, in_count, in_type))
COLLECTIVE(Allgatherv, Iallgatherv,
           (const void* out, int out_count, MPI_Datatype out_type, void* in, const int counts[],
            const int places[], MPI_Datatype in_type, MPI_Comm comm),
           (out, out_count, out_type, in, counts, places, in_type, comm),
           sum_of(counts, comm, in_type))
COLLECTIVE(Alltoall, Ialltoall,
           (const void* out, int out_count, MPI_Datatype out_type, void* in, int in_count,
            MPI_Datatype in_type, MPI_Comm comm),
           (out, out_count, out_type, in, in_count, in_type, comm), of_all(comm, in_count, in_type))
COLLECTIVE(Alltoallv, Ialltoallv,
           (const void* out, const int out_counts[], const int out_places[], MPI_Datatype out_type,
            void* in, const int in_counts[], const int in_places[], MPI_Datatype in_type,
            MPI_Comm comm),
           (out, out_counts, out_places, out_type, in, in_counts, in_places, in_type, comm),
           sum_of(in_counts, comm, in_type))
COLLECTIVE(Alltoallw, Ialltoallw,
           (const void* out, const int out_counts[], const int out_places[],
            const MPI_Datatype out_types[], void* in, const int in_counts[], const int in_places[],
            const MPI_Datatype in_types[], MPI_Comm comm),
           (out, out_counts, out_places, out_types, in, in_counts, in_places, in_types, comm),
           sum_of(in_counts, comm, in_types[0]))
