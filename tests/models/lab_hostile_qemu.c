/* SPDX-License-Identifier: Apache-2.0
 *
 * A hostile process in the place of QEMU (lab_qemu_test.py compiles it). It speaks to the laboratory
 * (models/lab/qemu/protocol.h), each VARIANT wrongly in its way. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "protocol.h"

enum { kLaboratory = 4 };

static void tell(uint32_t kind, uint32_t number, uint32_t bytes, int64_t time, int64_t next)
{
	const struct orrery_message message = { kind, number, bytes, 0, time, next, VARIANT == 13 ? -1 : 0, 0 };

	write(kLaboratory, &message, sizeof message);
}

static int64_t hear_grant(void)
{
	struct orrery_message message;

	while (read(kLaboratory, &message, sizeof message) == sizeof message)
		if (message.kind == ORRERY_GRANT)
			return message.time;
	_exit(0);
}

static void send_frames_without_end(void)
{
	static const uint8_t frame[64];
	struct orrery_message answer;

	do {
		tell(ORRERY_FRAME, 0, sizeof frame, 0, 0);
		write(kLaboratory, frame, sizeof frame);
	} while (read(kLaboratory, &answer, sizeof answer) == sizeof answer);
}

int main(void)
{
	int64_t until;

	dprintf(1, "variant %d begins\n", VARIANT);
	if (VARIANT == 1) {
		for (;;)
			if (write(kLaboratory, "garbage ", 8) < 0)
				return 0;
	}
	if (VARIANT == 2)
		tell(ORRERY_STOPPED, 0, 0, -1, 0);
	else
		tell(ORRERY_STOPPED, 0, 0, 0, 0);
	until = hear_grant();
	switch (VARIANT) {
	case 3:
		tell(ORRERY_FRAME, 1, 64, 0, 0);
		break;
	case 4:
		tell(ORRERY_FRAME, 0, 0xffffffff, 0, 0);
		break;
	case 5:
		tell(ORRERY_FRAME, 0, 64, until, 0);
		break;
	case 6:
		tell(ORRERY_STOPPED, 0, 0, until, until - 1);
		break;
	case 7:
		tell(ORRERY_OFF, 0, 0, INT64_MIN, 0);
		break;
	case 8:
		tell(ORRERY_LEFT, 0, 0, 0, 0);
		break;
	case 9:
		send_frames_without_end();
		break;
	case 12: { /* writes on its console without an end */
		static char line[1 << 16];

		while (write(1, line, sizeof line) > 0)
			;
		return 0;
	}
	case 10:
		write(kLaboratory, "half", 4); /* of a message, and its end */
		return 0;
	default: /* computes without an end */
		for (;;)
			;
	}
	pause();
	return 0;
}
