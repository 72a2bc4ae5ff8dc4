// SPDX-License-Identifier: Apache-2.0
//
// The two communications of Yoginath's thesis (4.2) that show in which order messages arrive, by
// MPI. See orders.c, which is the same by UDP.
//
//   mpi_orders cnd|vnd FIRST_S UNIT_S ROUNDS
//
// Round r, from 0, has UNIT_S * (r + 1) seconds, so that ways may become longer from round to
// round, and round 0 begins at FIRST_S seconds of each rank's clock. Until its round begins a rank sleeps,
// since one that waits for a message polls. Rank 0 writes a line "ROUND MESSAGE" for each message
// that arrives, to /out/order, and tells the others when all have.
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "random_path.h"

enum { kMostWays = 1000, kMostRanks = 256, kEnd = -1 };

/// Some 1,000 bytes, so that a link sends them far enough apart for who polls.
struct message {
  int32_t number, left, next;  // ways that are left; place of the next in `path`
  uint8_t path[kMostWays];
};

static int rank, ranks;

/// A pair of ranks is connected by its first message, which would be late.
static void connect_all(void) {
  for (int far = 1; far < ranks; ++far) {
    char out = 0, in;
    MPI_Sendrecv(&out, 1, MPI_CHAR, (rank + far) % ranks, 1, &in, 1, MPI_CHAR,
                 (rank + ranks - far) % ranks, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

/// Takes one of some buffers, whose earlier message has left.
static void send_on(const struct message *message) {
  enum { kBuffers = 2 * kMostRanks };
  static struct message buffers[kBuffers];
  static MPI_Request requests[kBuffers];
  static unsigned next;
  const unsigned mine = next % kBuffers;
  if (next++ >= kBuffers) MPI_Wait(&requests[mine], MPI_STATUS_IGNORE);
  struct message *const out = &buffers[mine];
  *out = *message;
  const int to = out->path[out->next++];
  --out->left;
  MPI_Isend(out, sizeof *out, MPI_BYTE, to, 0, MPI_COMM_WORLD, &requests[mine]);
}

static void tell_end(void) {
  for (int other = 1; other < ranks; ++other) {
    struct message end = {.number = kEnd, .left = 1};
    end.path[0] = (uint8_t)other;
    send_on(&end);
  }
}

static void send_cnd(void) {
  for (int i = 1; i <= ranks - 2; ++i) {
    struct message message = {.number = i, .left = 1, .next = 1};
    MPI_Send(&message, sizeof message, MPI_BYTE, i, 0, MPI_COMM_WORLD);
  }
}

/// Message i goes over 2i ways.
static void send_vnd(int round) {
  uint32_t state = random_seed(round);
  for (int i = 1; i <= ranks; ++i) {
    struct message message = {.number = i, .left = 2 * i};
    draw_path(message.path, 2 * i, ranks, &state);
    send_on(&message);
  }
}

/// Until the round ends. Rank 0 knows how many messages arrive.
static void take_part(int round, int expected, FILE *order) {
  while (rank != 0 || expected > 0) {
    struct message message;
    MPI_Recv(&message, sizeof message, MPI_BYTE, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    if (message.number == kEnd) return;
    if (message.left > 0) {
      send_on(&message);
    } else {
      fprintf(order, "%d %d\n", round, message.number);
      --expected;
    }
  }
  tell_end();
}

int main(int count, char **words) {
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (count != 5 || ranks < 3 || ranks > kMostRanks) MPI_Abort(MPI_COMM_WORLD, 2);
  const int is_vnd = strcmp(words[1], "vnd") == 0, rounds = atoi(words[4]);
  const double first = atof(words[2]), unit = atof(words[3]);
  FILE *const order = rank == 0 ? fopen("/out/order", "w") : NULL;
  connect_all();
  for (int round = 0; round < rounds; ++round) {
    sleep_until(first + unit * round * (round + 1) / 2);
    if (rank == ranks - 1) {
      if (is_vnd) {
        send_vnd(round);
      } else {
        send_cnd();
      }
    }
    take_part(round, is_vnd ? ranks : ranks - 2, order);
  }
  if (order != NULL) fclose(order);
  MPI_Finalize();
  return 0;
}
