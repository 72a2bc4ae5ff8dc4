// SPDX-License-Identifier: Apache-2.0
//
// Ways of VND's messages (orders.c, mpi_orders.c): through random ranks, the same in each run.
#pragma once

#include <stdint.h>

static inline uint32_t next_random(uint32_t* state) {
  return (*state = *state * 1664525u + 1013904223u) >> 16;
}

/// Of a round.
static inline uint32_t random_seed(int round) {
  return (uint32_t)round * 2654435761u + 12345u;
}

/// From the last rank by random ones, never the same twice in a row, to rank 0.
static inline void draw_path(uint8_t* path, int ways, int ranks, uint32_t* state) {
  int at = ranks - 1;
  for (int i = 0; i < ways - 1; ++i) {
    int next = (int)(next_random(state) % (uint32_t)ranks);
    while (next == at || (i == ways - 2 && next == 0)) next = (next + 1) % ranks;
    path[i] = (uint8_t)(at = next);
  }
  path[ways - 1] = 0;
}
