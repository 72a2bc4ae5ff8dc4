/* SPDX-License-Identifier: Apache-2.0
 *
 * A client of a web server whose requests come at random times, whatever the answers do (an open load):
 * the gaps between them are exponential. Requests do not wait for each other.
 *
 *   requests SERVER SEED [RATE SECONDS PAUSE]...
 *
 * For each triple: RATE requests a second for SECONDS, then PAUSE seconds for the last answers. Prints
 * a line for each answer: number of the triple, when it was asked and when the answer had ended, in ns
 * of the host's clock, and the bytes of the answer. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <math.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { kMost = 1000 };

static const char kRequest[] = "GET /page HTTP/1.1\r\nHost: server\r\nAccept-Encoding: gzip\r\n"
			       "Connection: close\r\n\r\n";

static struct sockaddr_in server = { .sin_family = AF_INET };
static struct pollfd open_ones[kMost];
static struct asked {
	int64_t at;
	long bytes;
	int sent;
} asked[kMost];
static int count;

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* SplitMix64: G. Steele, D. Lea, C. Flood, OOPSLA 2014. From 0 to 1, both excluded. */
static double uniform(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return ((z ^ (z >> 31)) >> 11 | 1) * 0x1p-53;
}

static void ask(void)
{
	const int one = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

	if (one < 0 || count == kMost) {
		fprintf(stderr, "requests: too many at once\n");
		exit(1);
	}
	asked[count] = (struct asked){ .at = now_ns() };
	connect(one, (struct sockaddr *)&server, sizeof server);
	open_ones[count++] = (struct pollfd){ .fd = one, .events = POLLOUT };
}

static void forget(int i)
{
	close(open_ones[i].fd);
	open_ones[i] = open_ones[--count];
	asked[i] = asked[count];
}

/* Returns whether the request is over. */
static int go_on(int i, int phase)
{
	static char part[65536];
	ssize_t bytes;

	if (!asked[i].sent) {
		asked[i].sent = 1;
		open_ones[i].events = POLLIN;
		return send(open_ones[i].fd, kRequest, sizeof kRequest - 1, MSG_NOSIGNAL) < 0;
	}
	bytes = recv(open_ones[i].fd, part, sizeof part, 0);
	if (bytes > 0) {
		asked[i].bytes += bytes;
		return 0;
	}
	printf("%d %lld %lld %ld\n", phase, (long long)asked[i].at, (long long)now_ns(), asked[i].bytes);
	return 1;
}

static void wait_until(int64_t time, int phase)
{
	for (int64_t left; (left = time - now_ns()) > 0;) {
		const struct timespec most = { left / 1000000000, left % 1000000000 };

		if (ppoll(open_ones, count, &most, NULL) <= 0)
			continue;
		for (int i = count - 1; i >= 0; i--)
			if (open_ones[i].revents && go_on(i, phase))
				forget(i);
	}
}

int main(int words, char **word)
{
	uint64_t state;
	int64_t begun;

	if (words < 6 || inet_pton(AF_INET, word[1], &server.sin_addr) != 1) {
		fprintf(stderr, "usage: requests SERVER SEED [RATE SECONDS PAUSE]...\n");
		return 2;
	}
	server.sin_port = htons(80);
	state = strtoull(word[2], NULL, 10);
	begun = now_ns();
	for (int i = 3, phase = 0; i + 2 < words; i += 3, phase++) {
		const double rate = atof(word[i]);
		const int64_t end = begun + (int64_t)(1e9 * atof(word[i + 1]));
		double at = begun;

		while ((at -= 1e9 / rate * log(uniform(&state))) < end) {
			wait_until((int64_t)at, phase);
			ask();
		}
		begun = end + (int64_t)(1e9 * atof(word[i + 2]));
		wait_until(begun, phase);
	}
	return 0;
}
