// SPDX-License-Identifier: Apache-2.0
//
// The only program of a guest: process 1 of a kernel without a disk. It does what it reads on its
// console, a word a line, until the next one: "compute", "idle", or "turns MS SEED", to compute and
// to idle in turn for times that are random, MS on average.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void compute(double seconds) {
  static volatile unsigned sum;
  const double end = now() + seconds;
  while (now() < end)
    for (unsigned i = 0; i < 100000; ++i) sum += i * i;
}

static void work(const char *order) {
  int mean_ms = 0;
  unsigned seed = 0;
  if (strcmp(order, "compute\n") == 0)
    for (;;) compute(1e9);
  const int has_turns = sscanf(order, "turns %d %u", &mean_ms, &seed) == 2;
  srand(seed);
  while (has_turns) {
    compute(2e-3 * mean_ms * rand() / RAND_MAX);
    usleep((useconds_t)(2e3 * mean_ms * rand() / RAND_MAX));
  }
  for (;;) pause();
}

int main(void) {
  char order[64];
  pid_t worker = 0;
  setvbuf(stdout, NULL, _IONBF, 0);
  puts("guest is ready");
  while (fgets(order, sizeof order, stdin) != NULL) {
    if (worker > 0) {
      kill(worker, SIGKILL);
      waitpid(worker, NULL, 0);
    }
    worker = fork();
    if (worker == 0) work(order);
    printf("guest does %s", order);
  }
  for (;;) pause();
}
