/* SPDX-License-Identifier: Apache-2.0
 *
 * An interactive shell on a guest, over a network device that leads to the terminal of the user of
 * the laboratory (models/lab/terminal_lp.h): frames of the experimental EtherType 0x88b5, each with
 * a kind, the number of bytes, and the bytes. The link loses no frames and keeps their order.
 *
 *   shell DEVICE
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kEtherType = 0x88b5, kBytes = 0, kSize = 1, kEnd = 2, kMostBytes = 1400 };

struct frame {
	uint16_t kind, bytes;
	unsigned char data[kMostBytes];
};

static int line, device;

static void tell(const struct frame *frame)
{
	struct sockaddr_ll to = { .sll_family = AF_PACKET,
				  .sll_protocol = htons(kEtherType),
				  .sll_ifindex = device,
				  .sll_halen = 6,
				  .sll_addr = { 255, 255, 255, 255, 255, 255 } };

	sendto(line, frame, 4 + ntohs(frame->bytes), 0, (struct sockaddr *)&to, sizeof to);
}

static pid_t start_shell(int *terminal)
{
	pid_t shell;

	*terminal = posix_openpt(O_RDWR | O_NOCTTY);
	if (*terminal < 0 || grantpt(*terminal) != 0 || unlockpt(*terminal) != 0)
		return -1;
	shell = fork();
	if (shell == 0) {
		const char *const program = access("/bin/bash", X_OK) == 0 ? "/bin/bash" : "/bin/sh";
		char host[64] = "host", prompt[80];
		int own;

		setsid();
		own = open(ptsname(*terminal), O_RDWR);
		ioctl(own, TIOCSCTTY, 0);
		dup2(own, 0);
		dup2(own, 1);
		dup2(own, 2);
		gethostname(host, sizeof host - 1);
		snprintf(prompt, sizeof prompt, "%s# ", host);
		setenv("PS1", prompt, 1);
		setenv("TERM", "xterm", 1);
		chdir("/root");
		if (strcmp(program, "/bin/bash") == 0)
			execl(program, program, "--norc", "-i", (char *)NULL);
		else
			execl(program, program, "-i", (char *)NULL);
		_exit(127);
	}
	return shell;
}

static void take(int terminal)
{
	struct frame frame;
	const ssize_t bytes = recv(line, &frame, sizeof frame, 0);
	const unsigned int length = bytes < 4 ? 0 : ntohs(frame.bytes);

	if (bytes < 4 || length > (size_t)bytes - 4)
		return;
	if (ntohs(frame.kind) == kBytes) {
		for (unsigned int at = 0; at < length;) {
			const ssize_t written = write(terminal, frame.data + at, length - at);

			if (written <= 0)
				return;
			at += written;
		}
	} else if (ntohs(frame.kind) == kSize && length == 4) {
		struct winsize size = { .ws_row = frame.data[0] << 8 | frame.data[1],
					.ws_col = frame.data[2] << 8 | frame.data[3] };

		ioctl(terminal, TIOCSWINSZ, &size);
	}
}

int main(int count, char **words)
{
	struct sockaddr_ll own = { .sll_family = AF_PACKET, .sll_protocol = htons(kEtherType) };
	struct frame frame;
	int terminal;
	pid_t shell;

	if (count != 2)
		return 2;
	device = own.sll_ifindex = if_nametoindex(words[1]);
	line = socket(AF_PACKET, SOCK_DGRAM, htons(kEtherType));
	if (device == 0 || line < 0 || bind(line, (struct sockaddr *)&own, sizeof own) != 0) {
		perror("shell");
		return 1;
	}
	shell = start_shell(&terminal);
	if (shell < 0) {
		perror("shell");
		return 1;
	}
	for (;;) {
		struct pollfd watched[] = { { .fd = line, .events = POLLIN },
					    { .fd = terminal, .events = POLLIN } };

		if (poll(watched, 2, -1) < 0 && errno != EINTR)
			break;
		if (watched[0].revents)
			take(terminal);
		if (watched[1].revents) {
			const ssize_t bytes = read(terminal, frame.data, sizeof frame.data);

			if (bytes <= 0)
				break; /* the shell has ended */
			frame.kind = htons(kBytes);
			frame.bytes = htons(bytes);
			tell(&frame);
		}
	}
	waitpid(shell, NULL, 0);
	frame.kind = htons(kEnd);
	frame.bytes = 0;
	tell(&frame);
	return 0;
}
