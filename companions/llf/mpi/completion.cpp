// SPDX-License-Identifier: Apache-2.0
//
// Waiting for and testing requests and messages. The operation behind a request is not known here,
// so a rank that waits is watchful.
#include "llf/mpi/wrap.h"

using namespace orrery::llf::mpi;

namespace {

/// `look` returns MPI's code and sets whether it found something.
template <class Look>
int until(Look look) {
  int code = MPI_SUCCESS;
  process().wait_until(true, [&] {
    bool found = false;
    code = look(found);
    return found || code != MPI_SUCCESS;
  });
  return code;
}
template <class Look>
int once(Look look) {
  int code = MPI_SUCCESS;
  process().poll([&] {
    bool found = false;
    code = look(found);
    return found || code != MPI_SUCCESS;
  });
  return code;
}

/// A test without open requests always succeeds, which says nothing about whether the loop has
/// work.
bool is_any_open(int count, const MPI_Request* requests) {
  for (int i = 0; i < count; ++i)
    if (requests[i] != MPI_REQUEST_NULL) return true;
  return false;
}

}  // namespace

extern "C" {

int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  if (!process().takes_part()) return PMPI_Wait(request, status);
  return wait_for(request, true, status);
}
int MPI_Waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
  if (!process().takes_part()) return PMPI_Waitall(count, requests, statuses);
  return until([&](bool& found) {
    int complete = 0;
    const int code = PMPI_Testall(count, requests, &complete, statuses);
    found = complete != 0;
    return code;
  });
}
int MPI_Waitany(int count, MPI_Request* requests, int* index, MPI_Status* status) {
  if (!process().takes_part()) return PMPI_Waitany(count, requests, index, status);
  return until([&](bool& found) {
    int complete = 0;
    const int code = PMPI_Testany(count, requests, index, &complete, status);
    found = complete != 0;
    return code;
  });
}
int MPI_Waitsome(int count, MPI_Request* requests, int* completed, int* indices,
                 MPI_Status* statuses) {
  if (!process().takes_part()) return PMPI_Waitsome(count, requests, completed, indices, statuses);
  return until([&](bool& found) {
    const int code = PMPI_Testsome(count, requests, completed, indices, statuses);
    found = *completed != 0;  // true also if no request is active
    return code;
  });
}

int MPI_Test(MPI_Request* request, int* complete, MPI_Status* status) {
  if (!process().takes_part() || *request == MPI_REQUEST_NULL)
    return PMPI_Test(request, complete, status);
  return once([&](bool& found) {
    const int code = PMPI_Test(request, complete, status);
    found = *complete != 0;
    return code;
  });
}
int MPI_Testall(int count, MPI_Request* requests, int* complete, MPI_Status* statuses) {
  if (!process().takes_part() || !is_any_open(count, requests))
    return PMPI_Testall(count, requests, complete, statuses);
  return once([&](bool& found) {
    const int code = PMPI_Testall(count, requests, complete, statuses);
    found = *complete != 0;
    return code;
  });
}
int MPI_Testany(int count, MPI_Request* requests, int* index, int* complete, MPI_Status* status) {
  if (!process().takes_part()) return PMPI_Testany(count, requests, index, complete, status);
  return once([&](bool& found) {
    const int code = PMPI_Testany(count, requests, index, complete, status);
    found = *complete != 0 && *index != MPI_UNDEFINED;
    return code;
  });
}
int MPI_Testsome(int count, MPI_Request* requests, int* completed, int* indices,
                 MPI_Status* statuses) {
  if (!process().takes_part()) return PMPI_Testsome(count, requests, completed, indices, statuses);
  return once([&](bool& found) {
    const int code = PMPI_Testsome(count, requests, completed, indices, statuses);
    found = *completed != 0 && *completed != MPI_UNDEFINED;
    return code;
  });
}
int MPI_Request_get_status(MPI_Request request, int* complete, MPI_Status* status) {
  if (!process().takes_part()) return PMPI_Request_get_status(request, complete, status);
  return once([&](bool& found) {
    const int code = PMPI_Request_get_status(request, complete, status);
    found = *complete != 0;
    return code;
  });
}
int MPI_Iprobe(int source, int tag, MPI_Comm comm, int* is_there, MPI_Status* status) {
  if (!process().takes_part()) return PMPI_Iprobe(source, tag, comm, is_there, status);
  return once([&](bool& found) {
    const int code = PMPI_Iprobe(source, tag, comm, is_there, status);
    found = *is_there != 0;
    return code;
  });
}
int MPI_Improbe(int source, int tag, MPI_Comm comm, int* is_there, MPI_Message* message,
                MPI_Status* status) {
  if (!process().takes_part()) return PMPI_Improbe(source, tag, comm, is_there, message, status);
  return once([&](bool& found) {
    const int code = PMPI_Improbe(source, tag, comm, is_there, message, status);
    found = *is_there != 0;
    return code;
  });
}
}
