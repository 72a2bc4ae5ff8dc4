// SPDX-License-Identifier: Apache-2.0
//
// Members of communicators, stored as an attribute, which MPI frees with the communicator; a table
// by handle would miss that a handle is used again.
#include <pthread.h>
#include <stdlib.h>

#include "llf/mpi/wrap.h"

namespace orrery::llf::mpi {

namespace {

int keyval = MPI_KEYVAL_INVALID;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

int forget(MPI_Comm, int, void* members, void*) {
  free(members);
  return MPI_SUCCESS;
}

Members* make_members(MPI_Comm comm) {
  int is_inter = 0, count = 0;
  PMPI_Comm_test_inter(comm, &is_inter);
  if (is_inter != 0)
    PMPI_Comm_remote_size(comm, &count);
  else
    PMPI_Comm_size(comm, &count);
  const auto room = static_cast<size_t>(count) * sizeof(int);
  auto* members = static_cast<Members*>(malloc(sizeof(Members) + room));
  auto* ranks = static_cast<int*>(malloc(room));
  if (members == nullptr || ranks == nullptr) {
    free(members);
    free(ranks);
    return nullptr;
  }
  MPI_Group group, world;
  if (is_inter != 0)
    PMPI_Comm_remote_group(comm, &group);
  else
    PMPI_Comm_group(comm, &group);
  PMPI_Comm_group(MPI_COMM_WORLD, &world);
  for (int i = 0; i < count; ++i) ranks[i] = i;
  PMPI_Group_translate_ranks(group, count, ranks, world, members->world);
  PMPI_Group_free(&group);
  PMPI_Group_free(&world);
  free(ranks);
  members->count = count;
  members->agree = is_inter == 0 && process().all_are_here();
  for (int i = 0; i < count; ++i) {
    if (members->world[i] == MPI_UNDEFINED) members->world[i] = -1;
    members->agree &= members->world[i] >= 0;
  }
  return members;
}

}  // namespace

void remember_communicators() {
  PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget, &keyval, nullptr);
}

const Members* members_of(MPI_Comm comm) {
  if (comm == MPI_COMM_NULL || keyval == MPI_KEYVAL_INVALID) return nullptr;
  Members* members = nullptr;
  int is_there = 0;
  if (PMPI_Comm_get_attr(comm, keyval, &members, &is_there) != MPI_SUCCESS) return nullptr;
  if (is_there != 0) return members;
  pthread_mutex_lock(&mutex);
  if (PMPI_Comm_get_attr(comm, keyval, &members, &is_there) == MPI_SUCCESS && is_there == 0 &&
      (members = make_members(comm)) != nullptr)
    PMPI_Comm_set_attr(comm, keyval, members);
  pthread_mutex_unlock(&mutex);
  return members;
}

void tell(MPI_Comm comm, int peer, unsigned hops) {
  const Members* members = members_of(comm);
  if (members != nullptr && peer >= 0 && peer < members->count)
    process().tell(members->world[peer], hops);
}

}  // namespace orrery::llf::mpi
