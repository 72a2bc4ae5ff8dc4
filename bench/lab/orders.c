// SPDX-License-Identifier: Apache-2.0
//
// A rank of the two communications of Yoginath's thesis (4.2) that show in which order messages
// arrive, over UDP between hosts of the laboratory. Rank k has the address 10.0.0.(k+1).
//
//   orders cnd|vnd RANK RANKS FIRST_S EVERY_S ROUNDS [APART_S [INSTRUCTIONS]]
//   orders speed           how many instructions of its computation this processor executes a second
//
// cnd: the last rank sends a message to each of 1 .. RANKS-2, which pass it on to rank 0: they arrive
//      in the order in which they were sent, if all ways are equally long.
// vnd: message i goes over 2i ways through random ranks and then arrives at rank 0: in the order of i.
//
// A round begins at FIRST_S seconds of the last rank's clock and every EVERY_S from then on; its messages
// are sent APART_S after one another (0). Before a rank sends a message, it executes INSTRUCTIONS (0).
// Rank 0 writes a line "ROUND MESSAGE" for each that arrives, to /out/order.
#include <arpa/inet.h>
#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"
#include "random_path.h"

enum { kPort = 9000, kMostWays = 1024 };

struct message {
  uint16_t round, number, left, next;  // ways that are left; place of the next in `path`
  uint8_t path[kMostWays];
};

static int rank, ranks, line;
static uint64_t instructions;

/// A loop of two instructions.
static void compute(uint64_t count) {
  uint64_t rounds = count / 2;
  if (rounds > 0) __asm__ volatile("1: dec %0\n jnz 1b" : "+r"(rounds)::"cc");
}

static int print_speed(void) {
  const uint64_t count = 2000000000;
  const double begin = now();
  compute(count);
  printf("%.0f\n", (double)count / (now() - begin));
  return 0;
}

static void send_on(struct message *message) {
  compute(instructions);
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(kPort)};
  const int place = message->path[message->next++];
  to.sin_addr.s_addr = htonl(0x0a000000u + (uint32_t)place + 1);
  --message->left;
  sendto(line, message, offsetof(struct message, path) + message->next + message->left, 0,
         (struct sockaddr *)&to, sizeof to);
}

static void send_round(int round, int is_vnd, double apart) {
  uint32_t state = random_seed(round);
  const int messages = is_vnd ? ranks : ranks - 2;
  for (int i = 1; i <= messages; ++i) {
    struct message message = {.round = (uint16_t)round, .number = (uint16_t)i};
    if (i > 1 && apart > 0) usleep((useconds_t)(apart * 1e6));
    if (is_vnd) {
      draw_path(message.path, 2 * i, ranks, &state);
      message.left = (uint16_t)(2 * i);
    } else {
      message.path[0] = (uint8_t)i;
      message.left = 2;
    }
    send_on(&message);
  }
}

static void receive(FILE *order) {
  struct message message;
  if (recv(line, &message, sizeof message, 0) < 8) return;
  if (message.left > 0) {
    send_on(&message);
  } else {
    fprintf(order, "%d %d\n", message.round, message.number);
    fflush(order);
  }
}

int main(int count, char **words) {
  if (count == 2 && strcmp(words[1], "speed") == 0) return print_speed();
  if (count < 7 || count > 9) return 2;
  const int is_vnd = strcmp(words[1], "vnd") == 0, rounds = atoi(words[6]);
  const double first = atof(words[4]), every = atof(words[5]), end = first + every * rounds,
               apart = count > 7 ? atof(words[7]) : 0;
  instructions = count > 8 ? strtoull(words[8], NULL, 10) : 0;
  rank = atoi(words[2]);
  ranks = atoi(words[3]);
  line = socket(AF_INET, SOCK_DGRAM, 0);
  struct sockaddr_in own = {.sin_family = AF_INET, .sin_port = htons(kPort)};
  if (bind(line, (struct sockaddr *)&own, sizeof own) != 0) return 1;
  FILE *const order = rank == 0 ? fopen("/out/order", "w") : NULL;
  int round = rank == ranks - 1 ? 0 : rounds;
  for (;;) {
    const double time = now();
    if (time >= end) break;
    if (round < rounds && time >= first + every * round) send_round(round++, is_vnd, apart);
    const double until = round < rounds ? first + every * round : end;
    struct pollfd watched = {.fd = line, .events = POLLIN};
    const double left = (until - now()) * 1000;
    if (poll(&watched, 1, left > 0 ? (int)left + 1 : 0) > 0) receive(order);
  }
  if (order != NULL) fclose(order);
  return 0;
}
