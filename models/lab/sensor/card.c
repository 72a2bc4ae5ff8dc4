/* SPDX-License-Identifier: Apache-2.0
 *
 * The driver of card.h: a queue for each direction. Descriptors and buffers belong together for
 * good, so a descriptor's number is all that moves. */
#include "card.h"

#include <stddef.h>

#include "machine.h"

enum {
	kMagic = 0x000,
	kVersion = 0x004,
	kDevice = 0x008,
	kFeatures = 0x020,
	kFeaturesHalf = 0x024,
	kQueue = 0x030,
	kQueueLength = 0x038,
	kQueueReady = 0x044,
	kNotify = 0x050,
	kInterrupts = 0x060,
	kAcknowledge = 0x064,
	kStatus = 0x070,
	kQueueDescriptors = 0x080,
	kQueueOffered = 0x090,
	kQueueUsed = 0x0a0,
	kConfiguration = 0x100,

	kReceive = 0,
	kSend = 1,
	kLength = 8, /* of a queue */
	kHeader = 12, /* bytes before each frame, all zero */
};

struct queue {
	struct {
		uint64_t address;
		uint32_t bytes;
		uint16_t flags, next;
	} descriptor[kLength];
	struct {
		uint16_t flags, count, number[kLength], event;
	} offered;
	struct {
		uint16_t flags, count;
		struct {
			uint32_t number, bytes;
		} entry[kLength];
		uint16_t event;
	} used __attribute__((aligned(4)));
	uint8_t buffer[kLength][kHeader + kMostFrame + 2];
} __attribute__((aligned(16)));

static volatile struct queue queues[2];
static uint16_t taken; /* frames received */
static int holds; /* the descriptor of the last one has not been offered again */
static uintptr_t card;
static uint8_t own_address[6];

static void prepare(uint32_t number, uint16_t flags)
{
	volatile struct queue *queue = &queues[number];

	for (int i = 0; i < kLength; i++) {
		queue->descriptor[i].address = (uintptr_t)queue->buffer[i];
		queue->descriptor[i].bytes = sizeof queue->buffer[i];
		queue->descriptor[i].flags = flags;
	}
	queue->offered.count = queue->used.count = 0;
	write32(card + kQueue, number);
	write32(card + kQueueLength, kLength);
	write32(card + kQueueDescriptors, (uintptr_t)queue->descriptor);
	write32(card + kQueueOffered, (uintptr_t)&queue->offered);
	write32(card + kQueueUsed, (uintptr_t)&queue->used);
	write32(card + kQueueReady, 1);
}

static void offer(uint32_t number, uint16_t descriptor)
{
	volatile struct queue *queue = &queues[number];

	queue->offered.number[queue->offered.count % kLength] = descriptor;
	queue->offered.count++;
	write32(card + kNotify, number);
}

int open_card(uintptr_t at)
{
	if (read32(at + kMagic) != 0x74726976 || read32(at + kVersion) != 2 ||
	    read32(at + kDevice) != 1)
		return 0;
	card = at;
	taken = holds = 0;
	write32(card + kStatus, 0);
	write32(card + kStatus, 3);
	write32(card + kFeaturesHalf, 0);
	write32(card + kFeatures, 1 << 5); /* it has an address */
	write32(card + kFeaturesHalf, 1);
	write32(card + kFeatures, 1); /* version 1 */
	write32(card + kStatus, 11);
	prepare(kReceive, 2);
	prepare(kSend, 0);
	queues[kSend].offered.flags = 1; /* no interrupts */
	write32(card + kStatus, 15);
	for (int i = 0; i < 6; i++)
		own_address[i] = *(volatile uint8_t *)(card + kConfiguration + i);
	for (int i = 0; i < kLength; i++)
		offer(kReceive, i);
	return 1;
}

static uint32_t frames_leaving(void)
{
	const volatile struct queue *queue = &queues[kSend];

	return (uint16_t)(queue->offered.count - queue->used.count);
}

void close_card(void)
{
	while (frames_leaving() > 0)
		;
	write32(card + kStatus, 0);
	queues[kReceive].used.count = taken;
	holds = 0;
}

const uint8_t *card_address(void)
{
	return own_address;
}

void send_frame(const void *frame, uint32_t bytes)
{
	volatile struct queue *queue = &queues[kSend];
	const uint16_t number = queue->offered.count % kLength;

	while (frames_leaving() == kLength)
		; /* descriptors come back in their order */
	for (uint32_t i = 0; i < bytes; i++)
		queue->buffer[number][kHeader + i] = ((const uint8_t *)frame)[i];
	queue->descriptor[number].bytes = kHeader + bytes;
	offer(kSend, number);
}

uint8_t *next_frame(uint32_t *bytes)
{
	volatile struct queue *queue = &queues[kReceive];
	uint32_t number;

	write32(card + kAcknowledge, read32(card + kInterrupts));
	if (holds)
		offer(kReceive, queue->used.entry[(uint16_t)(taken - 1) % kLength].number);
	holds = queue->used.count != taken;
	if (!holds)
		return NULL;
	number = queue->used.entry[taken % kLength].number;
	*bytes = queue->used.entry[taken % kLength].bytes - kHeader;
	taken++;
	return (uint8_t *)queue->buffer[number] + kHeader;
}
