// SPDX-License-Identifier: Apache-2.0
//
// The machine `virt` of QEMU, for images without an operating system: its timer, its console, its
// switch, and where its network card is. One processor; interrupts only end a sleep, and nobody
// handles them, so an image does one thing at a time.
#pragma once

#include <stdint.h>

#ifdef __arm__
#define MEMORY 0x40000000
#define CARD 0x0a000000
#else
#define MEMORY 0x80000000
#define CARD 0x10001000
#endif

/* The text `arguments` of the topology, which ends with a zero byte. */
#define ARGUMENTS ((const char*)(MEMORY + 0x100000))

/* The time since the start, in ticks of the machine's timer. */
uint64_t ticks(void);
uint64_t ticks_of_us(uint32_t us);
/* Waits for a time, or until the card has something to say. Returns whether the time has come. */
int sleep_until(uint64_t tick);
/* Executes exactly this number of instructions, 4 or more, even. */
void compute(uint32_t instructions);
void print(const char* text);
_Noreturn void switch_off(void);
_Noreturn void restart(void);

static inline void write32(uintptr_t address, uint32_t value) {
  *(volatile uint32_t*)address = value;
}

static inline uint32_t read32(uintptr_t address) {
  return *(volatile uint32_t*)address;
}

/* Of the image, called once. */
void image(void);
