/* SPDX-License-Identifier: Apache-2.0
 *
 * A sensor without an operating system, as small ones are. It sleeps, wakes after each period,
 * measures, which is a computation of known length, and sends the value as a UDP packet:
 * "number value period". It answers requests by UDP, too: a number sets its period in
 * microseconds (0: the sensor switches itself off), any other text only asks for the last value.
 *
 * Its arguments are six numbers: its four of an IPv4 address, the period in microseconds, and the
 * instructions of a measurement. "10 0 1 7 100000 40000" is 10.0.1.7, ten times a second. A seventh
 * number saves energy: its card is on only when it sends, and for so many microseconds after. */
#include <stddef.h>

#include "card.h"
#include "machine.h"

enum { kPort = 5000, kArguments = 7, kMostText = 64, kUdp = 17 };

struct packet {
	uint8_t to[6], from[6], type[2];
	uint8_t version, service, length[2], identity[2], fragment[2], hops, protocol, checksum[2];
	uint8_t source[4], destination[4];
	uint8_t source_port[2], destination_port[2], udp_length[2], udp_checksum[2];
	char text[kMostText];
};

struct request_for_address {
	uint8_t to[6], from[6], type[2];
	uint8_t kind[6], operation[2];
	uint8_t sender[6], sender_ip[4], target[6], target_ip[4];
};

static uint32_t argument[kArguments];
static uint32_t period_us, measured, value;

static const char *read_number(const char *text, uint32_t *number)
{
	while (*text == ' ')
		text++;
	for (*number = 0; *text >= '0' && *text <= '9'; text++)
		*number = *number * 10 + (*text - '0');
	return text;
}

static char *write_number(char *to, uint32_t number)
{
	char digits[10];
	int count = 0;

	do
		digits[count++] = '0' + number % 10;
	while ((number /= 10) != 0);
	while (count > 0)
		*to++ = digits[--count];
	return to;
}

static void put16(uint8_t *to, uint32_t value16)
{
	to[0] = value16 >> 8;
	to[1] = value16;
}

static void copy(uint8_t *to, const uint8_t *from, int bytes)
{
	for (int i = 0; i < bytes; i++)
		to[i] = from[i];
}

static int equal(const uint8_t *a, const uint8_t *b, int bytes)
{
	for (int i = 0; i < bytes; i++)
		if (a[i] != b[i])
			return 0;
	return 1;
}

static void own_ip(uint8_t *to)
{
	for (int i = 0; i < 4; i++)
		to[i] = argument[i];
}

/* Sends the last value; `packet` has the addresses of the receiver. */
static void send_value(struct packet *packet)
{
	uint32_t bytes, sum = 0;
	char *end = write_number(packet->text, measured);

	*end++ = ' ';
	end = write_number(end, value);
	*end++ = ' ';
	end = write_number(end, period_us);
	*end++ = '\n';
	bytes = end - packet->text;
	copy(packet->from, card_address(), 6);
	put16(packet->type, 0x0800);
	packet->version = 0x45;
	packet->service = 0;
	put16(packet->length, 28 + bytes);
	put16(packet->identity, measured);
	put16(packet->fragment, 0);
	packet->hops = 64;
	packet->protocol = kUdp;
	own_ip(packet->source);
	put16(packet->checksum, 0);
	for (const uint8_t *byte = &packet->version; byte < packet->source_port; byte += 2)
		sum += byte[0] << 8 | byte[1];
	sum = (sum & 0xffff) + (sum >> 16);
	put16(packet->checksum, ~(sum + (sum >> 16)));
	put16(packet->source_port, kPort);
	put16(packet->udp_length, 8 + bytes);
	put16(packet->udp_checksum, 0);
	send_frame(packet, 42 + bytes);
}

static void send_measured(void)
{
	static struct packet packet;

	value = value * 1664525 + 1013904223 + argument[3];
	measured++;
	for (int i = 0; i < 6; i++)
		packet.to[i] = 0xff;
	for (int i = 0; i < 4; i++)
		packet.destination[i] = 0xff;
	put16(packet.destination_port, kPort);
	send_value(&packet);
}

static void answer_address(struct request_for_address *request)
{
	uint8_t ip[4];

	own_ip(ip);
	if (request->operation[1] != 1 || !equal(request->target_ip, ip, 4))
		return;
	request->operation[1] = 2;
	copy(request->target, request->sender, 6);
	copy(request->target_ip, request->sender_ip, 4);
	copy(request->to, request->from, 6);
	copy(request->sender, card_address(), 6);
	copy(request->from, card_address(), 6);
	own_ip(request->sender_ip);
	send_frame(request, sizeof *request);
}

static void answer(struct packet *packet, uint32_t bytes)
{
	uint8_t ip[4], port[2];
	uint32_t new_period;

	own_ip(ip);
	if (packet->version != 0x45 || packet->protocol != kUdp || bytes < 43 ||
	    !equal(packet->destination, ip, 4) || packet->destination_port[0] != kPort >> 8 ||
	    packet->destination_port[1] != (kPort & 0xff))
		return;
	if (packet->text[0] >= '0' && packet->text[0] <= '9') {
		((uint8_t *)packet)[bytes < kMostFrame ? bytes : kMostFrame - 1] = 0;
		read_number(packet->text, &new_period);
		period_us = new_period;
		print("sensor: a new period\n");
	}
	copy(packet->to, packet->from, 6);
	copy(packet->destination, packet->source, 4);
	copy(port, packet->source_port, 2);
	copy(packet->destination_port, port, 2);
	send_value(packet);
}

static void answer_all(void)
{
	uint32_t bytes;

	for (uint8_t *frame; (frame = next_frame(&bytes)) != NULL;) {
		if (frame[12] == 8 && frame[13] == 0)
			answer((struct packet *)frame, bytes);
		else if (frame[12] == 8 && frame[13] == 6 && bytes >= 42)
			answer_address((struct request_for_address *)frame);
	}
}

/* Sleeps and answers until the time has come, or someone switches the sensor off. */
static void wait(uint64_t until)
{
	while (period_us != 0 && !sleep_until(until))
		answer_all();
}

void image(void)
{
	const char *text = ARGUMENTS;
	uint64_t next, listening;

	for (int i = 0; i < kArguments; i++)
		text = read_number(text, &argument[i]);
	period_us = argument[4];
	if (period_us == 0 || !open_card(CARD)) {
		print("sensor: it needs a card, and six numbers as arguments\n");
		return;
	}
	listening = ticks_of_us(argument[6]);
	print("sensor: up\n");
	for (next = ticks_of_us(period_us); period_us != 0; next += ticks_of_us(period_us)) {
		if (listening > 0)
			close_card();
		wait(next);
		if (period_us == 0)
			break;
		compute(argument[5]);
		if (listening > 0)
			open_card(CARD);
		send_measured();
		if (listening > 0)
			wait(ticks() + listening);
		answer_all();
	}
	print("sensor: off\n");
}
