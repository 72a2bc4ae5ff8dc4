/* SPDX-License-Identifier: Apache-2.0
 *
 * A guest without an operating system for lab_qemu_test.py, which compiles it by models/lab/sensor/build.
 * Its arguments are a word and numbers:
 *
 *   loops N...        sends a frame, executes N instructions, sends a frame, and so on
 *   frames N BYTES    sends N frames at once, and sleeps
 *   restarts N        restarts N times, and sends a frame each time
 *   storm             is interrupted by its timer all the time, and sends a frame each time
 *   spin              computes without an end
 *   stray             executes what is no instruction
 *   sleep             sleeps without an end, after one frame
 *
 * A frame begins with the broadcast address; its last 4 bytes are its number. Apart from "storm", no
 * guest looks at the clock, so each executes the same instructions at any speed. */
#include <stddef.h>

#include "card.h"
#include "machine.h"

enum { kFrame = 64 };

/* Not a variable: a restart sets those to zero. */
#define RESTARTS ((volatile uint32_t *)(MEMORY + 0x180000))

static uint32_t sent;

static void send(uint32_t bytes)
{
	static uint8_t frame[kMostFrame];

	for (int i = 0; i < 6; i++) {
		frame[i] = 0xff;
		frame[6 + i] = card_address()[i];
	}
	for (int i = 0; i < 4; i++)
		frame[bytes - 4 + i] = sent >> (24 - 8 * i);
	sent++;
	send_frame(frame, bytes);
}

static int begins_with(const char *text, const char *word)
{
	while (*word != 0)
		if (*text++ != *word++)
			return 0;
	return 1;
}

static uint32_t next_number(const char **text)
{
	uint32_t number = 0;

	while (**text != 0 && (**text < '0' || **text > '9'))
		++*text;
	for (; **text >= '0' && **text <= '9'; ++*text)
		number = number * 10 + (**text - '0');
	return number;
}

static _Noreturn void sleep_without_end(void)
{
	for (uint32_t bytes;;) {
		sleep_until(~(uint64_t)0);
		next_frame(&bytes);
	}
}

static _Noreturn void stray(void)
{
	((void (*)(void))0x0ff00000)();
	for (;;)
		;
}

void image(void)
{
	const char *text = ARGUMENTS;

	if (!open_card(CARD)) {
		print("bare: there is no card\n");
		return;
	}
	print("bare: begins\n");
	if (begins_with(text, "loops")) {
		send(kFrame);
		for (uint32_t length; (length = next_number(&text)) != 0;) {
			compute(length);
			send(kFrame);
		}
	} else if (begins_with(text, "frames")) {
		uint32_t count = next_number(&text);
		const uint32_t bytes = next_number(&text);

		while (count-- > 0)
			send(bytes);
		sleep_without_end();
	} else if (begins_with(text, "restarts")) {
		send(kFrame);
		if ((*RESTARTS)++ < next_number(&text))
			restart();
	} else if (begins_with(text, "storm")) {
		for (;;) {
			sleep_until(ticks() + 1);
			send(kFrame);
		}
	} else if (begins_with(text, "spin")) {
		for (;;)
			;
	} else if (begins_with(text, "stray")) {
		stray();
	} else if (begins_with(text, "sleep")) {
		send(kFrame);
		sleep_without_end();
	}
	print("bare: ends\n");
}
