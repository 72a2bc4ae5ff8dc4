/* SPDX-License-Identifier: Apache-2.0
 *
 * What programs over MPI do, a part by name: each rank prints what it has got, which has to be the same
 * with the shim as without it. Compiled for the MPI that is tested.
 *
 *   mpi_program PART
 */
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int rank, ranks;

static unsigned long hash_of(const void *bytes, size_t count) {
  const unsigned char *at = bytes;
  unsigned long hash = 14695981039346656037ul;
  for (size_t i = 0; i < count; ++i) hash = (hash ^ at[i]) * 1099511628211ul;
  return hash;
}
static void check(int holds, const char *what) {
  if (holds) return;
  printf("rank %d: %s\n", rank, what);
  fflush(stdout);
  MPI_Abort(MPI_COMM_WORLD, 9);
}
#define CHECK(condition) check(condition, "line " LINE(__LINE__) ": " #condition)
#define LINE(number) LINE_OF(number)
#define LINE_OF(number) #number

static void fill(int *numbers, int count, int seed) {
  for (int i = 0; i < count; ++i) numbers[i] = seed * 1000003 + i * 7919 % 65521;
}
/* Ranks that come at different times. */
static void come_late(int turn) { usleep((unsigned)((rank * 7 + turn * 3) % 5) * 700); }

/* --- collective operations ------------------------------------------------------------------------ */

static MPI_Comm comm;
static int size, self; /* of comm */

static int *numbers_of(int count, int seed) {
  int *numbers = malloc(sizeof(int) * (size_t)(count > 0 ? count : 1));
  fill(numbers, count, seed);
  return numbers;
}
static void show(const char *what, int count, const int *in, int total) {
  printf("%s %d of %d at %d: %016lx\n", what, count, size, rank,
         hash_of(in, sizeof(int) * (size_t)total));
}

static void blocks(int count, int *counts, int *places, int *total) {
  *total = 0;
  for (int i = 0; i < size; ++i) {
    counts[i] = count / 2 + i % 3;
    places[i] = *total;
    *total += counts[i];
  }
}

static void collectives_of(int count) {
  const int all = count * size, root = size - 1;
  int *out = numbers_of(all + 3 * size, rank), *in = numbers_of(all + 3 * size, -1);
  int counts[64], places[64], bytes[64], byte_places[64], total;
  MPI_Datatype types[64];
#define AGAIN(turn) come_late(turn), fill(in, all + 3 * size, -1)
  AGAIN(0), fill(in, count, rank), MPI_Bcast(in, count, MPI_INT, root, comm);
  show("bcast", count, in, count);
  AGAIN(1), MPI_Reduce(out, in, count, MPI_INT, MPI_SUM, root, comm);
  show("reduce", count, in, count);
  AGAIN(2), MPI_Allreduce(out, in, count, MPI_INT, MPI_MAX, comm);
  show("allreduce", count, in, count);
  AGAIN(3), fill(in, count, rank), MPI_Allreduce(MPI_IN_PLACE, in, count, MPI_INT, MPI_BXOR, comm);
  show("allreduce in place", count, in, count);
  AGAIN(4), MPI_Gather(out, count, MPI_INT, in, count, MPI_INT, root, comm);
  show("gather", count, in, all);
  AGAIN(5), fill(in, all, rank);
  if (self == root)
    MPI_Gather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, count, MPI_INT, root, comm);
  else
    MPI_Gather(out, count, MPI_INT, NULL, 0, MPI_DATATYPE_NULL, root, comm);
  show("gather in place", count, in, all);
  AGAIN(6), MPI_Scatter(out, count, MPI_INT, in, count, MPI_INT, root, comm);
  show("scatter", count, in, count);
  AGAIN(7), MPI_Allgather(out, count, MPI_INT, in, count, MPI_INT, comm);
  show("allgather", count, in, all);
  AGAIN(8), MPI_Alltoall(out, count, MPI_INT, in, count, MPI_INT, comm);
  show("alltoall", count, in, all);
  AGAIN(9), MPI_Reduce_scatter_block(out, in, count, MPI_INT, MPI_SUM, comm);
  show("reduce_scatter_block", count, in, count);
  AGAIN(10), MPI_Scan(out, in, count, MPI_INT, MPI_SUM, comm);
  show("scan", count, in, count);
  AGAIN(11), MPI_Exscan(out, in, count, MPI_INT, MPI_SUM, comm);
  show("exscan", count, in, self == 0 ? 0 : count);
  blocks(count, counts, places, &total);
  AGAIN(12), MPI_Gatherv(out, counts[self], MPI_INT, in, counts, places, MPI_INT, root, comm);
  show("gatherv", count, in, total);
  AGAIN(13), MPI_Scatterv(out, counts, places, MPI_INT, in, counts[self], MPI_INT, root, comm);
  show("scatterv", count, in, counts[self]);
  AGAIN(14), MPI_Allgatherv(out, counts[self], MPI_INT, in, counts, places, MPI_INT, comm);
  show("allgatherv", count, in, total);
  AGAIN(15), MPI_Reduce_scatter(out, in, counts, MPI_INT, MPI_SUM, comm);
  show("reduce_scatter", count, in, counts[self]);
  for (int i = 0; i < size; ++i) {
    counts[i] = count / 2 + (self + i) % 2;
    places[i] = i * count + i;
    bytes[i] = counts[i];
    byte_places[i] = places[i] * (int)sizeof(int);
    types[i] = MPI_INT;
  }
  AGAIN(16), MPI_Alltoallv(out, counts, places, MPI_INT, in, counts, places, MPI_INT, comm);
  show("alltoallv", count, in, all + size);
  AGAIN(17), MPI_Alltoallw(out, bytes, byte_places, types, in, bytes, byte_places, types, comm);
  show("alltoallw", count, in, all + size);
  AGAIN(18), MPI_Barrier(comm);
  MPI_Request requests[2];
  MPI_Iallreduce(out, in, count, MPI_INT, MPI_SUM, comm, &requests[0]);
  MPI_Ibarrier(comm, &requests[1]);
  come_late(19);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  show("iallreduce", count, in, count);
  free(out);
  free(in);
}

static void use(MPI_Comm with) {
  comm = with;
  MPI_Comm_size(comm, &size);
  MPI_Comm_rank(comm, &self);
}
static void collectives(void) {
  const int counts[] = {1, 1000, 60000};
  for (int i = 0; i < 3; ++i) use(MPI_COMM_WORLD), collectives_of(counts[i]);
  MPI_Comm half, twin, other;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
  use(half), collectives_of(300);
  MPI_Comm_dup(half, &twin);
  use(twin), collectives_of(2);
  use(MPI_COMM_SELF), collectives_of(10);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank % 2 == 0 ? ranks - 1 : ranks - 2, 5, &other);
  int number = rank, sum = 0;
  MPI_Allreduce(&number, &sum, 1, MPI_INT, MPI_SUM, other);
  printf("the other side's sum at %d: %d\n", rank, sum);
  MPI_Comm_free(&other);
  MPI_Comm_free(&twin);
  MPI_Comm_free(&half);
}

/* --- from one to another -------------------------------------------------------------------------- */

static void is_from(const MPI_Status *status, int source, int tag, int bytes) {
  int count = -1;
  MPI_Get_count(status, MPI_BYTE, &count);
  CHECK(status->MPI_SOURCE == source);
  CHECK(status->MPI_TAG == tag);
  CHECK(count == bytes);
}

static void messages_of(int bytes) {
  const int next = (rank + 1) % ranks, last = (rank + ranks - 1) % ranks;
  char *out = malloc((size_t)bytes + 1), *in = malloc((size_t)bytes + 1);
  MPI_Status status, statuses[2];
  MPI_Request requests[2];
  int index, count, indices[2];
  memset(out, rank + 1, (size_t)bytes);
#define CLEAR memset(in, 0, (size_t)bytes), come_late(bytes)
#define GOT CHECK(bytes == 0 || (in[0] == last + 1 && in[bytes / 2] == last + 1 && in[bytes - 1] == last + 1))
  /* Each of these would stop if both sides were not made to go on. */
  CLEAR;
  if (rank % 2 == 0) {
    MPI_Send(out, bytes, MPI_BYTE, next, 1, MPI_COMM_WORLD);
    status.MPI_ERROR = 4711;
    MPI_Recv(in, bytes, MPI_BYTE, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
    CHECK(status.MPI_ERROR == 4711);
  } else {
    MPI_Recv(in, bytes, MPI_BYTE, last, 1, MPI_COMM_WORLD, &status);
    MPI_Ssend(out, bytes, MPI_BYTE, next, 1, MPI_COMM_WORLD);
  }
  is_from(&status, last, 1, bytes);
  GOT;
  CLEAR, MPI_Sendrecv(out, bytes, MPI_BYTE, next, 2, in, bytes, MPI_BYTE, last, 2, MPI_COMM_WORLD, &status);
  is_from(&status, last, 2, bytes);
  GOT;
  CLEAR, memcpy(in, out, (size_t)bytes);
  MPI_Sendrecv_replace(in, bytes, MPI_BYTE, next, 3, last, 3, MPI_COMM_WORLD, &status);
  is_from(&status, last, 3, bytes);
  GOT;
  CLEAR, MPI_Irecv(in, bytes, MPI_BYTE, last, 4, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(out, bytes, MPI_BYTE, next, 4, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, statuses);
  is_from(&statuses[0], last, 4, bytes);
  CHECK(requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL);
  GOT;
  CLEAR, MPI_Irecv(in, bytes, MPI_BYTE, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &requests[0]);
  MPI_Issend(out, bytes, MPI_BYTE, next, 5, MPI_COMM_WORLD, &requests[1]);
  for (int i = 0; i < 2; ++i) {
    MPI_Waitany(2, requests, &index, &status);
    if (index == 0) is_from(&status, last, 5, bytes);
  }
  MPI_Waitany(2, requests, &index, &status);
  CHECK(index == MPI_UNDEFINED);
  GOT;
  CLEAR, MPI_Irecv(in, bytes, MPI_BYTE, last, 6, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(out, bytes, MPI_BYTE, next, 6, MPI_COMM_WORLD, &requests[1]);
  for (int left = 2; left > 0; left -= count) MPI_Waitsome(2, requests, &count, indices, statuses);
  MPI_Waitsome(2, requests, &count, indices, statuses);
  CHECK(count == MPI_UNDEFINED);
  GOT;
  CLEAR, MPI_Recv_init(in, bytes, MPI_BYTE, last, 7, MPI_COMM_WORLD, &requests[0]);
  MPI_Send_init(out, bytes, MPI_BYTE, next, 7, MPI_COMM_WORLD, &requests[1]);
  for (int i = 0; i < 3; ++i) {
    CLEAR, MPI_Startall(2, requests);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    MPI_Wait(&requests[0], &status);
    is_from(&status, last, 7, bytes);
    GOT;
  }
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
  CLEAR, MPI_Isend(out, bytes, MPI_BYTE, next, 8, MPI_COMM_WORLD, &requests[1]);
  MPI_Probe(MPI_ANY_SOURCE, 8, MPI_COMM_WORLD, &status);
  is_from(&status, last, 8, bytes);
  MPI_Message message;
  MPI_Mprobe(last, 8, MPI_COMM_WORLD, &message, &status);
  is_from(&status, last, 8, bytes);
  MPI_Mrecv(in, bytes, MPI_BYTE, &message, &status);
  is_from(&status, last, 8, bytes);
  MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
  GOT;
  free(out);
  free(in);
}
static void messages(void) {
  const int bytes[] = {0, 1, 100, 5000, 70000, 1 << 20, 5 << 20};
  for (int i = 0; i < 7; ++i) messages_of(bytes[i]);
  const int room = 1000 + MPI_BSEND_OVERHEAD;
  char *buffer = malloc((size_t)room), text[100] = "";
  MPI_Buffer_attach(buffer, room);
  MPI_Bsend("buffered", 9, MPI_CHAR, (rank + 1) % ranks, 1, MPI_COMM_WORLD);
  MPI_Recv(text, 100, MPI_CHAR, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Buffer_detach(&buffer, &(int){0});
  CHECK(strcmp(text, "buffered") == 0);
  free(buffer);
  printf("messages at %d\n", rank);
}

static void corners(void) {
  MPI_Status status;
  int number = 0, kind = 0, code, is_there;
  MPI_Recv(&number, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &status);
  CHECK(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG);
  MPI_Send(&number, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD);
  MPI_Sendrecv(&number, 1, MPI_INT, MPI_PROC_NULL, 1, &number, 1, MPI_INT, MPI_PROC_NULL, 1,
               MPI_COMM_WORLD, &status);
  CHECK(status.MPI_SOURCE == MPI_PROC_NULL);
  MPI_Probe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &status);
  CHECK(status.MPI_SOURCE == MPI_PROC_NULL);
  MPI_Request none = MPI_REQUEST_NULL;
  MPI_Wait(&none, &status);
  CHECK(status.MPI_SOURCE == MPI_ANY_SOURCE);
  MPI_Waitall(0, NULL, MPI_STATUSES_IGNORE);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  int numbers[4] = {1, 2, 3, 4};
  MPI_Request sending;
  MPI_Isend(numbers, 4, MPI_INT, rank, 2, MPI_COMM_WORLD, &sending);
  code = MPI_Recv(&number, 1, MPI_INT, rank, 2, MPI_COMM_WORLD, &status);
  MPI_Error_class(code, &kind);
  CHECK(kind == MPI_ERR_TRUNCATE);
  MPI_Wait(&sending, MPI_STATUS_IGNORE);
  MPI_Error_class(MPI_Send(&number, 1, MPI_INT, ranks, 2, MPI_COMM_WORLD), &kind);
  CHECK(kind == MPI_ERR_RANK);
  MPI_Error_class(MPI_Bcast(&number, 1, MPI_INT, ranks, MPI_COMM_WORLD), &kind);
  CHECK(kind == MPI_ERR_ROOT);
  MPI_Request waiting;
  MPI_Irecv(&number, 1, MPI_INT, rank, 99, MPI_COMM_WORLD, &waiting);
  MPI_Cancel(&waiting);
  MPI_Wait(&waiting, &status);
  MPI_Test_cancelled(&status, &is_there);
  CHECK(is_there != 0);
  printf("corners at %d\n", rank);
}

/* Loops that look, and do nothing else. */
static void loops(void) {
  const int next = (rank + 1) % ranks, last = (rank + ranks - 1) % ranks;
  int token = 0, is_there = 0, sum = 0, index;
  MPI_Request requests[2];
  MPI_Status status;
  for (int round = 0; round < 30; ++round) {
    if (rank != 0) {
      do MPI_Iprobe(MPI_ANY_SOURCE, round, MPI_COMM_WORLD, &is_there, &status);
      while (is_there == 0);
      MPI_Recv(&token, 1, MPI_INT, status.MPI_SOURCE, round, MPI_COMM_WORLD, &status);
    }
    ++token;
    MPI_Send(&token, 1, MPI_INT, next, round, MPI_COMM_WORLD);
    if (rank == 0) {
      MPI_Irecv(&token, 1, MPI_INT, last, round, MPI_COMM_WORLD, &requests[0]);
      do MPI_Test(&requests[0], &is_there, &status);
      while (is_there == 0);
    }
    MPI_Iallreduce(&token, &sum, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &requests[0]);
    MPI_Ibarrier(MPI_COMM_WORLD, &requests[1]);
    do MPI_Testany(1, requests, &index, &is_there, MPI_STATUS_IGNORE);
    while (is_there == 0);
    do MPI_Testall(2, requests, &is_there, MPI_STATUSES_IGNORE);
    while (is_there == 0);
    CHECK(sum == (round + 1) * ranks);
    token = sum;
  }
  printf("loops at %d: %d\n", rank, sum);
}

/* Ranks that sleep, or wait for a thread, with their turn; the others go on. */
static void sleepers(void) {
  if (rank < 2) {
    sleep(2);
  } else {
    const int other = rank % 2 == 0 ? rank + 1 : rank - 1;
    int number = 0;
    for (int i = 0; i < 300 && other < ranks; ++i)
      if (rank % 2 == 0) {
        MPI_Send(&i, 1, MPI_INT, other, 1, MPI_COMM_WORLD);
        MPI_Recv(&number, 1, MPI_INT, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      } else {
        MPI_Recv(&number, 1, MPI_INT, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(&number, 1, MPI_INT, other, 1, MPI_COMM_WORLD);
      }
    CHECK(other >= ranks || number == 299);
  }
  const pid_t child = fork();
  if (child == 0) execl("/bin/true", "true", (char *)0), _exit(1);
  int status = -1;
  waitpid(child, &status, 0);
  CHECK(status == 0);
  printf("awake at %d\n", rank);
}

/* Threads of their own, each with the same thread of the next rank. */
static void *talk(void *number) {
  const int tag = *(int *)number, next = (rank + 1) % ranks, last = (rank + ranks - 1) % ranks;
  long sum = 0;
  int *out = malloc(80000), *in = malloc(80000);
  for (int i = 0; i < 20; ++i) {
    const int count = i % 4 == 0 ? 20000 : 1;
    MPI_Request request;
    MPI_Status status;
    out[0] = i + tag;
    MPI_Isend(out, count, MPI_INT, next, tag, MPI_COMM_WORLD, &request);
    MPI_Recv(in, count, MPI_INT, last, tag, MPI_COMM_WORLD, &status);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(status.MPI_SOURCE == last && in[0] == i + tag);
    sum += in[0];
  }
  free(out);
  free(in);
  CHECK(sum == 190 + 20 * tag);
  return NULL;
}
static void threads(void) {
  pthread_t made[3];
  int tags[4] = {10, 11, 12, 13};
  for (int i = 0; i < 3; ++i) pthread_create(&made[i], NULL, talk, &tags[i]);
  talk(&tags[3]);
  for (int i = 0; i < 3; ++i) pthread_join(made[i], NULL);
  MPI_Barrier(MPI_COMM_WORLD);
  printf("threads at %d\n", rank);
}

/* With those that this one has started. */
static void parents(const char *program) {
  char *words[] = {(char *)"children", NULL};
  MPI_Comm children, all;
  int number = rank, sum = 0, from = 0;
  MPI_Comm_spawn(program, words, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE);
  if (rank == 0) MPI_Send(&number, 1, MPI_INT, 1, 1, children);
  if (rank == 0) MPI_Recv(&from, 1, MPI_INT, 1, 1, children, MPI_STATUS_IGNORE);
  MPI_Intercomm_merge(children, 0, &all);
  MPI_Allreduce(&number, &sum, 1, MPI_INT, MPI_SUM, all);
  printf("parent %d: %d %d\n", rank, sum, from);
  MPI_Comm_free(&all);
  MPI_Comm_disconnect(&children);
}
static void children(void) {
  MPI_Comm parents_, all;
  int number = 100 + rank, sum = 0;
  MPI_Comm_get_parent(&parents_);
  if (rank == 1) {
    MPI_Recv(&sum, 1, MPI_INT, 0, 1, parents_, MPI_STATUS_IGNORE);
    MPI_Send(&number, 1, MPI_INT, 0, 1, parents_);
  }
  MPI_Intercomm_merge(parents_, 1, &all);
  MPI_Allreduce(&number, &sum, 1, MPI_INT, MPI_SUM, all);
  printf("child %d: %d\n", rank, sum);
  MPI_Comm_free(&all);
  MPI_Comm_disconnect(&parents_);
}

static void one_ends(int how) {
  int number = 0;
  if (rank == 1) {
    usleep(200000);
    if (how == 0) MPI_Abort(MPI_COMM_WORLD, 7);
    raise(SIGKILL);
  }
  MPI_Recv(&number, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int count, char **words) {
  const char *part = count > 1 ? words[1] : "";
  int provided = 0;
  if (strcmp(part, "nothing") == 0) return puts("nothing of MPI"), 0;
  if (strcmp(part, "threads") == 0)
    MPI_Init_thread(&count, &words, MPI_THREAD_MULTIPLE, &provided);
  else
    MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (strcmp(part, "collectives") == 0) collectives();
  if (strcmp(part, "messages") == 0) messages();
  if (strcmp(part, "corners") == 0) corners();
  if (strcmp(part, "loops") == 0) loops();
  if (strcmp(part, "sleepers") == 0) sleepers();
  if (strcmp(part, "threads") == 0 && provided < MPI_THREAD_MULTIPLE) puts("no threads");
  if (strcmp(part, "threads") == 0 && provided == MPI_THREAD_MULTIPLE) threads();
  if (strcmp(part, "parents") == 0) parents(words[0]);
  if (strcmp(part, "children") == 0) children();
  if (strcmp(part, "abort") == 0) one_ends(0);
  if (strcmp(part, "killed") == 0) one_ends(1);
  if (strcmp(part, "wait") == 0) {
    char byte;
    if (rank == 0 && read(0, &byte, 1) < 0) return 1;
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
