// SPDX-License-Identifier: Apache-2.0
//
// The table of mpi_plugin.h for an MPI library, by its C interface. Matched probes receive exactly
// the message that was probed. A duplicate of the world's communicator keeps out messages of other
// code.
#include <mpi.h>

#include <climits>
#include <cstdio>
#include <new>

#include "transport/ranks/mpi_plugin.h"

namespace {

constexpr int kTag = 1;
MPI_Comm ranks_comm = MPI_COMM_NULL;  // the library itself is global

int begin(char* error, std::size_t error_bytes) {
  int provided = MPI_THREAD_SINGLE;
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided) != MPI_SUCCESS) {
    std::snprintf(error, error_bytes, "MPI_Init_thread failed");
    return 1;
  }
  if (provided < MPI_THREAD_SERIALIZED) {
    std::snprintf(error, error_bytes, "it does not support calls from several threads");
    return 1;
  }
  if (MPI_Comm_dup(MPI_COMM_WORLD, &ranks_comm) != MPI_SUCCESS) {
    std::snprintf(error, error_bytes, "MPI_Comm_dup failed");
    return 1;
  }
  return 0;
}

int rank() {
  int number = 0;
  MPI_Comm_rank(ranks_comm, &number);
  return number;
}

int ranks() {
  int count = 1;
  MPI_Comm_size(ranks_comm, &count);
  return count;
}

void* send(int to, const void* bytes, std::size_t count) {
  if (count > INT_MAX) return nullptr;
  auto* const request = new (std::nothrow) MPI_Request;
  if (request == nullptr) return nullptr;
  if (MPI_Isend(bytes, static_cast<int>(count), MPI_BYTE, to, kTag, ranks_comm, request) ==
      MPI_SUCCESS)
    return request;
  delete request;
  return nullptr;
}

int probe(int* from, std::size_t* count, void** message) {
  int there = 0, bytes = 0;
  MPI_Message found;
  MPI_Status status;
  if (MPI_Improbe(MPI_ANY_SOURCE, kTag, ranks_comm, &there, &found, &status) != MPI_SUCCESS ||
      there == 0)
    return 0;
  MPI_Get_count(&status, MPI_BYTE, &bytes);
  *from = status.MPI_SOURCE;
  *count = static_cast<std::size_t>(bytes);
  *message = new MPI_Message(found);
  return 1;
}

void* receive(void* message, void* bytes, std::size_t count) {
  auto* const found = static_cast<MPI_Message*>(message);
  auto* const request = new MPI_Request;
  MPI_Imrecv(bytes, static_cast<int>(count), MPI_BYTE, found, request);
  delete found;
  return request;
}

int is_done(void* request) {
  auto* const begun = static_cast<MPI_Request*>(request);
  int done = 0;
  MPI_Test(begun, &done, MPI_STATUS_IGNORE);
  if (done != 0) delete begun;
  return done;
}

void end() {
  MPI_Comm_free(&ranks_comm);
  MPI_Finalize();
}

void abandon(int code) {
  MPI_Abort(MPI_COMM_WORLD, code);
}

const char* library() {
#ifdef OPEN_MPI
  return "Open MPI";
#else
  return "MPICH";
#endif
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const OrreryMpi* orrery_mpi() {
  static const OrreryMpi table = {orrery::transport::kOrreryMpiVersion,
                                  begin,
                                  rank,
                                  ranks,
                                  send,
                                  probe,
                                  receive,
                                  is_done,
                                  end,
                                  abandon,
                                  library};
  return &table;
}
