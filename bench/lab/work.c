// SPDX-License-Identifier: Apache-2.0
//
// Work for a host whose instructions are counted, of a kind and about so many millions of instructions:
//
//   work loops|calls|memory MILLIONS
//
// loops: a loop of two instructions. calls: system calls. memory: reads from random places of 32 MiB, each
// of which says where the next is.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { kPlaces = 32 << 17, kInstructionsOfACall = 500 };

static uint64_t places[kPlaces];

static void loops(uint64_t instructions) {
  uint64_t rounds = instructions / 2;
  __asm__ volatile("1: dec %0\n jnz 1b" : "+r"(rounds)::"cc");
}

static void calls(uint64_t instructions) {
  for (uint64_t i = 0; i < instructions / kInstructionsOfACall; ++i) syscall(SYS_getppid);
}

/// One cycle through all places (Sattolo's shuffle), then along it: three instructions a read.
static void memory(uint64_t instructions) {
  uint64_t state = 1, at = 0;
  for (uint64_t i = 0; i < kPlaces; ++i) places[i] = i;
  for (uint64_t i = kPlaces - 1; i > 0; --i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const uint64_t other = (state >> 33) % i, place = places[i];
    places[i] = places[other];
    places[other] = place;
  }
  for (uint64_t i = 0; i < instructions / 3; ++i) at = ((volatile uint64_t *)places)[at];
}

int main(int count, char **words) {
  if (count != 3) return 2;
  const uint64_t instructions = strtoull(words[2], NULL, 10) * 1000000;
  if (strcmp(words[1], "loops") == 0) loops(instructions);
  if (strcmp(words[1], "calls") == 0) calls(instructions);
  if (strcmp(words[1], "memory") == 0) memory(instructions);
  return 0;
}
