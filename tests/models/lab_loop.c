/* SPDX-License-Identifier: Apache-2.0
 *
 * Says how long loops of known length take, in steps of the processor's own counter: a program for
 * counted hosts of aarch64 and riscv64, without a library, so that any clang makes it.
 *
 *   loop      prints, for each loop of two instructions, how often it ran, and the shortest of its times
 */
#include <stdint.h>

#if defined(__aarch64__)

static uint64_t count_now(void)
{
	uint64_t count;

	__asm__ volatile("isb; mrs %0, cntvct_el0" : "=r"(count)::"memory");
	return count;
}

static void loop(uint64_t times)
{
	__asm__ volatile("1: subs %0, %0, #1; b.ne 1b" : "+r"(times)::"cc", "memory");
}

static long call(long number, long a, long b, long c)
{
	register long x8 __asm__("x8") = number, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c;

	__asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
	return x0;
}

#else

static uint64_t count_now(void)
{
	uint64_t count;

	__asm__ volatile("rdtime %0" : "=r"(count)::"memory");
	return count;
}

static void loop(uint64_t times)
{
	__asm__ volatile("1: addi %0, %0, -1; bnez %0, 1b" : "+r"(times)::"memory");
}

static long call(long number, long a, long b, long c)
{
	register long a7 __asm__("a7") = number, a0 __asm__("a0") = a, a1 __asm__("a1") = b, a2 __asm__("a2") = c;

	__asm__ volatile("ecall" : "+r"(a0) : "r"(a7), "r"(a1), "r"(a2) : "memory");
	return a0;
}

#endif

enum { WRITE = 64, EXIT = 93 }; /* system calls */

static void say(uint64_t number, char after)
{
	char text[24], *at = text + sizeof text;

	*--at = after;
	do {
		*--at = '0' + number % 10;
	} while ((number /= 10) != 0);
	call(WRITE, 1, (long)at, text + sizeof text - at);
}

/* Of some, since the kernel's timer interrupts others. */
static uint64_t shortest(uint64_t times)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < 20; i++) {
		const uint64_t begun = count_now();
		uint64_t took;

		loop(times);
		took = count_now() - begun;
		least = took < least ? took : least;
	}
	return least;
}

void _start(void)
{
	static const uint64_t lengths[] = { 1000, 2000, 5000, 9000 };

	for (int i = 0; i < 4; i++) {
		say(lengths[i], ' ');
		say(shortest(lengths[i]), '\n');
	}
	call(EXIT, 0, 0, 0);
}
