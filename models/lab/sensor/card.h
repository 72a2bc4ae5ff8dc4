// SPDX-License-Identifier: Apache-2.0
//
// A network card: virtio-net over memory-mapped registers (Virtual I/O Device 1.2, OASIS), by
// polling. Frames are without their checksum.
#pragma once

#include <stdint.h>

enum { kMostFrame = 1514 };

/* Switches the card on. Returns 0 if there is none. */
int open_card(uintptr_t at);
/* Waits until all frames have left, and switches the card off: frames that arrive then are lost. */
void close_card(void);
const uint8_t* card_address(void);
/* Copies and sends a frame; waits until there is room. */
void send_frame(const void* frame, uint32_t bytes);
/* The next frame that has arrived, valid until the next call, and its length; or NULL. */
uint8_t* next_frame(uint32_t* bytes);
