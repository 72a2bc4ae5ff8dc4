// SPDX-License-Identifier: Apache-2.0
//
// Messages from one rank to another. The sender wakes the receiver once the message is under way. A
// large message needs both ranks: its sender waits, watchful, until it has been taken, and the
// announcement has hops for the messages in both directions.
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include "llf/mpi/wrap.h"

using namespace orrery::llf::mpi;

namespace {

/// A blocking send by its non-blocking form.
template <class Begin>
int send(MPI_Comm comm, int dest, int count, MPI_Datatype type, bool is_synchronous, Begin begin) {
  MPI_Request request;
  int code = begin(&request), complete = 0;
  if (code != MPI_SUCCESS) return code;
  code = PMPI_Test(&request, &complete, MPI_STATUS_IGNORE);
  const unsigned hops = hops_for(bytes_of(count, type));
  if (complete != 0 || code != MPI_SUCCESS) {
    tell(comm, dest, hops);
    process().pass();
    return code;
  }
  tell(comm, dest, hops > 0 ? hops : is_synchronous ? 2 : 4);
  return wait_for(&request, true, MPI_STATUS_IGNORE);
}

/// Announces a non-blocking send.
int told(int code, MPI_Comm comm, int dest, unsigned hops) {
  if (code != MPI_SUCCESS || !process().takes_part()) return code;
  tell(comm, dest, hops);
  process().pass();
  return code;
}

/// The receivers of persistent send requests, by handle. A freed handle that now belongs to a
/// receive does no harm: the old receiver tests once in vain.
class Persistent {
 public:
  int begun(int code, MPI_Request* request, MPI_Comm comm, int dest, unsigned hops) {
    const Members* members = nullptr;
    if (code == MPI_SUCCESS && process().takes_part()) members = members_of(comm);
    if (members == nullptr || dest < 0 || dest >= members->count) return code;
    pthread_mutex_lock(&mutex_);
    Entry* entry = find(*request);
    if (entry == nullptr) entry = add();
    if (entry != nullptr) *entry = {*request, members->world[dest], hops};
    pthread_mutex_unlock(&mutex_);
    return code;
  }
  void started(MPI_Request request) {
    pthread_mutex_lock(&mutex_);
    const Entry* entry = find(request);
    const Entry found = entry == nullptr ? Entry{request, -1, 0} : *entry;
    pthread_mutex_unlock(&mutex_);
    process().tell(found.world, found.hops);
  }
  void freed(MPI_Request request) {
    pthread_mutex_lock(&mutex_);
    if (Entry* entry = find(request)) *entry = entries_[--count_];
    pthread_mutex_unlock(&mutex_);
  }

 private:
  struct Entry {
    MPI_Request request;
    int world;
    unsigned hops;
  };
  // Linear search, since there are few entries at a time.
  Entry* find(MPI_Request request) {
    for (int i = 0; i < count_; ++i)
      if (entries_[i].request == request) return &entries_[i];
    return nullptr;
  }
  Entry* add() {
    if (count_ == room_) {
      const int room = room_ == 0 ? 16 : 2 * room_;
      void* more = realloc(entries_, static_cast<size_t>(room) * sizeof(Entry));
      if (more == nullptr) return nullptr;
      entries_ = static_cast<Entry*>(more);
      room_ = room;
    }
    return &entries_[count_++];
  }
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  Entry* entries_ = nullptr;
  int count_ = 0, room_ = 0;
};
constinit Persistent persistent;

unsigned hops_of_send(int count, MPI_Datatype type, bool is_synchronous) {
  const unsigned hops = process().takes_part() ? hops_for(bytes_of(count, type)) : 0;
  return hops == 0 && is_synchronous ? 2 : hops;
}

/// Whether a receive may be of a message in pieces.
bool may_be_large(int count, MPI_Datatype type) {
  return bytes_of(count, type) > kEagerBytes;
}

/// Waits until both are complete; `status`: of the receive. Returns the first error.
int wait_for_both(MPI_Request* receive, MPI_Request* send, bool watchful, MPI_Status* status) {
  int code = MPI_SUCCESS, received = 0, sent = 0;
  process().wait_until(watchful, [&] {
    if (received == 0) code = PMPI_Test(receive, &received, status);
    if (code == MPI_SUCCESS && sent == 0) code = PMPI_Test(send, &sent, MPI_STATUS_IGNORE);
    return code != MPI_SUCCESS || (received != 0 && sent != 0);
  });
  return code;
}

}  // namespace

// Sends: blocking, non-blocking, persistent.
#define SENDS(Kind, IKind, INIT, is_synchronous)                                                   \
  extern "C" int MPI_##Kind(const void* buffer, int count, MPI_Datatype type, int dest, int tag,   \
                            MPI_Comm comm) {                                                       \
    if (!process().takes_part()) return PMPI_##Kind(buffer, count, type, dest, tag, comm);         \
    return send(comm, dest, count, type, is_synchronous, [&](MPI_Request* request) {               \
      return PMPI_##IKind(buffer, count, type, dest, tag, comm, request);                          \
    });                                                                                            \
  }                                                                                                \
  extern "C" int MPI_##IKind(const void* buffer, int count, MPI_Datatype type, int dest, int tag,  \
                             MPI_Comm comm, MPI_Request* request) {                                \
    const int code = PMPI_##IKind(buffer, count, type, dest, tag, comm, request);                  \
    return told(code, comm, dest, hops_of_send(count, type, is_synchronous));                      \
  }                                                                                                \
  extern "C" int MPI_##INIT(const void* buffer, int count, MPI_Datatype type, int dest, int tag,   \
                            MPI_Comm comm, MPI_Request* request) {                                 \
    const int code = PMPI_##INIT(buffer, count, type, dest, tag, comm, request);                   \
    return persistent.begun(code, request, comm, dest, hops_of_send(count, type, is_synchronous)); \
  }
SENDS(Send, Isend, Send_init, false)
SENDS(Ssend, Issend, Ssend_init, true)
SENDS(Rsend, Irsend, Rsend_init, false)
SENDS(Bsend, Ibsend, Bsend_init, false)

extern "C" {

int MPI_Start(MPI_Request* request) {
  const int code = PMPI_Start(request);
  if (code == MPI_SUCCESS && process().takes_part()) persistent.started(*request);
  return code;
}
int MPI_Startall(int count, MPI_Request* requests) {
  const int code = PMPI_Startall(count, requests);
  if (code == MPI_SUCCESS && process().takes_part())
    for (int i = 0; i < count; ++i) persistent.started(requests[i]);
  return code;
}
int MPI_Request_free(MPI_Request* request) {
  if (process().takes_part()) persistent.freed(*request);
  return PMPI_Request_free(request);
}

int MPI_Recv(void* buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
             MPI_Status* status) {
  // A receive from MPI_PROC_NULL is complete at once; MPICH's non-blocking form gives an incomplete
  // status.
  if (!process().takes_part() || source == MPI_PROC_NULL)
    return PMPI_Recv(buffer, count, type, source, tag, comm, status);
  MPI_Request request;
  const int code = PMPI_Irecv(buffer, count, type, source, tag, comm, &request);
  if (code != MPI_SUCCESS) return code;
  return wait_for(&request, may_be_large(count, type), status);
}

int MPI_Mrecv(void* buffer, int count, MPI_Datatype type, MPI_Message* message,
              MPI_Status* status) {
  if (!process().takes_part()) return PMPI_Mrecv(buffer, count, type, message, status);
  MPI_Request request;
  const int code = PMPI_Imrecv(buffer, count, type, message, &request);
  if (code != MPI_SUCCESS) return code;
  return wait_for(&request, may_be_large(count, type), status);
}

int MPI_Sendrecv(const void* out, int out_count, MPI_Datatype out_type, int dest, int out_tag,
                 void* in, int in_count, MPI_Datatype in_type, int source, int in_tag,
                 MPI_Comm comm, MPI_Status* status) {
  if (!process().takes_part() || (source == MPI_PROC_NULL && dest == MPI_PROC_NULL))
    return PMPI_Sendrecv(out, out_count, out_type, dest, out_tag, in, in_count, in_type, source,
                         in_tag, comm, status);
  MPI_Request receive, sending;
  int code = PMPI_Irecv(in, in_count, in_type, source, in_tag, comm, &receive);
  if (code != MPI_SUCCESS) return code;
  code = PMPI_Isend(out, out_count, out_type, dest, out_tag, comm, &sending);
  if (code != MPI_SUCCESS) {
    PMPI_Cancel(&receive);
    PMPI_Request_free(&receive);
    return code;
  }
  const unsigned hops = hops_for(bytes_of(out_count, out_type));
  tell(comm, dest, hops);
  code = wait_for_both(&receive, &sending, hops > 0 || may_be_large(in_count, in_type), status);
  if (code == MPI_SUCCESS && source == MPI_PROC_NULL)
    code = PMPI_Recv(in, in_count, in_type, source, in_tag, comm, status);  // its status
  return code;
}

/// Packs the outgoing data first, so that the buffer can take the incoming data.
int MPI_Sendrecv_replace(void* buffer, int count, MPI_Datatype type, int dest, int out_tag,
                         int source, int in_tag, MPI_Comm comm, MPI_Status* status) {
  int room = 0, bytes = 0;
  void* packed = nullptr;
  if (!process().takes_part() || comm == MPI_COMM_NULL ||
      PMPI_Pack_size(count, type, comm, &room) != MPI_SUCCESS ||
      (packed = malloc(static_cast<size_t>(room) + 1)) == nullptr)
    return PMPI_Sendrecv_replace(buffer, count, type, dest, out_tag, source, in_tag, comm, status);
  int code = PMPI_Pack(buffer, count, type, packed, room, &bytes, comm);
  if (code == MPI_SUCCESS)
    code = MPI_Sendrecv(packed, bytes, MPI_PACKED, dest, out_tag, buffer, count, type, source,
                        in_tag, comm, status);
  free(packed);
  return code;
}

int MPI_Probe(int source, int tag, MPI_Comm comm, MPI_Status* status) {
  if (!process().takes_part() || source == MPI_PROC_NULL)
    return PMPI_Probe(source, tag, comm, status);
  int code = MPI_SUCCESS, is_there = 0;
  process().wait_until(false, [&] {
    code = PMPI_Iprobe(source, tag, comm, &is_there, status);
    return is_there != 0 || code != MPI_SUCCESS;
  });
  return code;
}
int MPI_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status) {
  if (!process().takes_part() || source == MPI_PROC_NULL)
    return PMPI_Mprobe(source, tag, comm, message, status);
  int code = MPI_SUCCESS, is_there = 0;
  process().wait_until(false, [&] {
    code = PMPI_Improbe(source, tag, comm, &is_there, message, status);
    return is_there != 0 || code != MPI_SUCCESS;
  });
  return code;
}
}
