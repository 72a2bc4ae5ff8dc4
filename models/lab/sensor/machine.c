/* SPDX-License-Identifier: Apache-2.0
 *
 * The machine `virt` of QEMU (machine.h), as an Arm with a GICv2 and the generic timer, or as a RISC-V
 * with CLINT and PLIC. The addresses are those of QEMU's documentation of the two machines.
 *
 * A processor wakes from WFI by an interrupt that is enabled in the interrupt controller, even if
 * the processor itself takes none. So there are no handlers. */
#include <stddef.h>

#include "machine.h"

/* ---- The start: a stack, and to the image. Memory is zero then, after a reset it is not. */

extern char bss_begin[], bss_end[];

__attribute__((used)) static _Noreturn void begin(void);

#ifdef __arm__
__asm__(".section .start, \"ax\"\n"
	".global start\n"
	"start: ldr sp, =stack_end\n"
	"	b begin\n");
#else
__asm__(".section .start, \"ax\"\n"
	".global start\n"
	"start: la sp, stack_end\n"
	"	j begin\n");
#endif

static void watch_interrupts(void);

static _Noreturn void begin(void)
{
	for (char *byte = bss_begin; byte < bss_end; byte++)
		*(volatile char *)byte = 0;
	watch_interrupts();
	image();
	switch_off();
}

void *memcpy(void *to, const void *from, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		((volatile char *)to)[i] = ((const char *)from)[i];
	return to;
}

void *memset(void *to, int value, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		((volatile char *)to)[i] = value;
	return to;
}

/* ---- Each of the two */

#ifdef __arm__

enum {
	kDistributor = 0x08000000,
	kInterface = 0x08010000,
	kConsole = 0x09000000,
	kTimerInterrupt = 30,
	kCardInterrupt = 48,
};

uint64_t ticks(void)
{
	uint64_t now;

	__asm__ volatile("isb\n mrrc p15, 0, %Q0, %R0, c14" : "=r"(now));
	return now;
}

/* 62.5 MHz */
uint64_t ticks_of_us(uint32_t us)
{
	return (uint64_t)us * 125 / 2;
}

static void set_timer(uint64_t tick)
{
	__asm__ volatile("mcrr p15, 2, %Q0, %R0, c14" ::"r"(tick));
	__asm__ volatile("mcr p15, 0, %0, c14, c2, 1\n isb" ::"r"(1));
}

static void watch_interrupts(void)
{
	write32(kDistributor, 1);
	write32(kDistributor + 0x100, 1u << kTimerInterrupt);
	write32(kDistributor + 0x104, 1u << (kCardInterrupt - 32));
	write32(kInterface + 4, 0xff);
	write32(kInterface, 1);
}

static void forget_interrupt(void)
{
}

void compute(uint32_t instructions)
{
	uint32_t rounds = instructions / 2;

	__asm__ volatile("1: subs %0, %0, #1\n bne 1b" : "+r"(rounds)::"cc");
}

static _Noreturn void ask_firmware(uint32_t what)
{
	register uint32_t function __asm__("r0") = what;

	__asm__ volatile(".arch_extension virt\n hvc #0" ::"r"(function));
	for (;;)
		__asm__ volatile("wfi");
}

void switch_off(void)
{
	ask_firmware(0x84000008);
}

void restart(void)
{
	ask_firmware(0x84000009);
}

#else

enum {
	kSwitch = 0x00100000,
	kTimer = 0x02000000,
	kController = 0x0c000000,
	kConsole = 0x10000000,
	kCardInterrupt = 1,
};

uint64_t ticks(void)
{
	uint32_t high, low;

	do {
		high = read32(kTimer + 0xbffc);
		low = read32(kTimer + 0xbff8);
	} while (high != read32(kTimer + 0xbffc));
	return (uint64_t)high << 32 | low;
}

/* 10 MHz */
uint64_t ticks_of_us(uint32_t us)
{
	return (uint64_t)us * 10;
}

static void set_timer(uint64_t tick)
{
	write32(kTimer + 0x4004, ~0u); /* not yet, while the two halves differ */
	write32(kTimer + 0x4000, (uint32_t)tick);
	write32(kTimer + 0x4004, tick >> 32);
}

static void watch_interrupts(void)
{
	write32(kController + 4 * kCardInterrupt, 1);
	write32(kController + 0x2000, 1u << kCardInterrupt);
	write32(kController + 0x200000, 0);
	__asm__ volatile("csrw mie, %0" ::"r"(1 << 7 | 1 << 11));
}

static void forget_interrupt(void)
{
	const uint32_t which = read32(kController + 0x200004);

	if (which != 0)
		write32(kController + 0x200004, which);
}

void compute(uint32_t instructions)
{
	uint32_t rounds = instructions / 2;

	__asm__ volatile("1: addi %0, %0, -1\n bnez %0, 1b" : "+r"(rounds));
}

void switch_off(void)
{
	write32(kSwitch, 0x5555);
	for (;;)
		__asm__ volatile("wfi");
}

void restart(void)
{
	write32(kSwitch, 0x7777);
	for (;;)
		__asm__ volatile("wfi");
}

#endif

/* ---- Both */

int sleep_until(uint64_t tick)
{
	if (ticks() >= tick)
		return 1;
	set_timer(tick);
	__asm__ volatile("wfi" ::: "memory");
	forget_interrupt();
	return ticks() >= tick;
}

void print(const char *text)
{
	for (; *text != 0; text++)
		*(volatile uint8_t *)kConsole = *text;
}
