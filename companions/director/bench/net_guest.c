// SPDX-License-Identifier: Apache-2.0
//
// The only program of a guest of net.py: process 1 of a kernel without a disk. The command line of the
// kernel has its task:
//
//   task=cnd|vnd|worm|idle rank=R ranks=N rounds=K apart=LOOPS
//
// Ranks have the addresses 10.0.0.(R+1) and know those of the cards of all (h1 to hN, of which the
// director makes them), so the only frames are those of the experiment. The last rank begins. All ranks
// poll for messages all the time, as ranks of MPI do, so all compute.
//
// cnd: the last rank sends a message to each of 1 .. N-2, which pass it on to rank 0: they arrive in the
//      order in which they were sent, if all ways are equally long.
// vnd: message i goes over 2i ways through random ranks and then arrives at rank 0: in the order of i.
// worm: the last rank is infected. Who is infected opens connections (TCP) to two more and sends a byte
//      over each, which infects them: so 1, 2, 4, ... ranks a generation.
// idle: nothing.
//
// Between two messages the last rank computes, LOOPS thousand rounds of a loop. Round 0 warms up.
// Rank 0 writes "order ROUND MESSAGE ...", in the order in which they arrived. When all is done, all
// power off.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../../bench/lab/clock.h"
#include "../../../bench/lab/random_path.h"

enum { kPort = 9000, kMostWays = 256, kMostMessages = 256 };
enum kind { kHello, kGo, kMessage, kDone, kEnd };

struct message {
  uint16_t kind, round, number, left, next;  // ways that are left; place of the next in `path`
  uint8_t path[kMostWays];
};

static int rank, ranks, rounds, apart, line;
static char task[16] = "idle";

static int number_of(const char *words, const char *name) {
  const char *found = strstr(words, name);
  return found == NULL ? 0 : atoi(found + strlen(name));
}

static void read_task(void) {
  char words[4096] = "";
  mount("proc", "/proc", "proc", 0, "");
  const int file = open("/proc/cmdline", O_RDONLY);
  if (read(file, words, sizeof words - 1) < 0) _exit(1);
  close(file);
  const char *found = strstr(words, "task=");
  if (found != NULL) sscanf(found, "task=%15s", task);
  rank = number_of(words, "rank=");
  ranks = number_of(words, "ranks=");
  rounds = number_of(words, "rounds=");
  apart = number_of(words, "apart=");
}

static void load_modules(void) {
  for (int i = 10; i < 100; ++i) {
    char path[32];
    snprintf(path, sizeof path, "/modules/%d.ko", i);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    if (syscall(SYS_finit_module, file, "", 0) != 0) perror(path);
    close(file);
  }
}

static struct sockaddr_in address_of(int of) {
  return (struct sockaddr_in){.sin_family = AF_INET,
                              .sin_port = htons(kPort),
                              .sin_addr.s_addr = htonl(0x0a000001u + (uint32_t)of)};
}

/// As in models/lab/device_address.h.
static void card_address(int of, unsigned char *to) {
  char name[16];
  snprintf(name, sizeof name, "h%d", of + 1);
  uint32_t hash = 0x811c9dc5;
  for (const char *letter = name; *letter != 0; ++letter)
    hash = (hash ^ (unsigned char)*letter) * 0x01000193;
  const unsigned char address[6] = {2, hash >> 24, hash >> 16 & 255, hash >> 8 & 255, hash & 255, 0};
  memcpy(to, address, sizeof address);
}

static void set_up_card(void) {
  struct ifreq card = {.ifr_name = "eth0"};
  struct sockaddr_in address = address_of(rank);
  address.sin_port = 0;
  memcpy(&card.ifr_addr, &address, sizeof address);
  if (ioctl(line, SIOCSIFADDR, &card) != 0) perror("address");
  address.sin_addr.s_addr = htonl(0xffffff00u);
  memcpy(&card.ifr_netmask, &address, sizeof address);
  ioctl(line, SIOCSIFNETMASK, &card);
  card.ifr_flags = IFF_UP | IFF_RUNNING | IFF_NOARP;
  if (ioctl(line, SIOCSIFFLAGS, &card) != 0) perror("up");
  card.ifr_flags = IFF_UP | IFF_RUNNING;
  ioctl(line, SIOCSIFFLAGS, &card);
  for (int i = 0; i < ranks; ++i) {
    struct arpreq entry = {.arp_flags = ATF_PERM | ATF_COM, .arp_dev = "eth0"};
    if (i == rank) continue;
    address = address_of(i);
    address.sin_port = 0;
    memcpy(&entry.arp_pa, &address, sizeof address);
    entry.arp_ha.sa_family = ARPHRD_ETHER;
    card_address(i, (unsigned char *)entry.arp_ha.sa_data);
    if (ioctl(line, SIOCSARP, &entry) != 0) perror("neighbour");
  }
  address = address_of(rank);
  if (bind(line, (struct sockaddr *)&address, sizeof address) != 0) perror("bind");
}

static void send_to(int place, const struct message *message) {
  const struct sockaddr_in to = address_of(place);
  sendto(line, message, offsetof(struct message, path) + message->next + message->left, 0,
         (const struct sockaddr *)&to, sizeof to);
}

static void send_on(struct message *message) {
  const int place = message->path[message->next++];
  --message->left;
  send_to(place, message);
}

static void tell(int place, enum kind kind, int round) {
  const struct message message = {.kind = (uint16_t)kind, .round = (uint16_t)round};
  send_to(place, &message);
}

static int messages_of_round(void) {
  return strcmp(task, "vnd") == 0 ? ranks : ranks - 2;
}

static void compute(int loops) {
  static volatile uint32_t sum;
  for (int i = 0; i < loops * 1000; ++i) sum = sum * 1664525u + 1013904223u;
}

static void send_round(int round) {
  uint32_t state = random_seed(round);
  for (int i = 1; i <= messages_of_round(); ++i) {
    struct message message = {.kind = kMessage, .round = (uint16_t)round, .number = (uint16_t)i};
    if (i > 1) compute(apart);
    if (strcmp(task, "vnd") == 0) {
      draw_path(message.path, 2 * i, ranks, &state);
      message.left = (uint16_t)(2 * i);
    } else {
      message.path[0] = (uint8_t)i;
      message.left = 2;
    }
    send_on(&message);
  }
}

/// Yields to the threads of the kernel, one of which takes over from interrupts that last long: a guest
/// that has waited for its turn finds that its interrupts have lasted long.
static int receive(struct message *message) {
  if (recv(line, message, sizeof *message, MSG_DONTWAIT) >= (ssize_t)offsetof(struct message, path))
    return 1;
  sched_yield();
  return 0;
}

/// Rank 0: counts the messages of a round, and tells the last rank when all are here. Text on the
/// console takes long, so the line comes when the round is over.
static void count(const struct message *message) {
  static uint16_t order[kMostMessages];
  static int came, round = -1;
  if (message->round != round) came = 0;
  round = message->round;
  if (came < kMostMessages) order[came++] = message->number;
  if (came < messages_of_round()) return;
  char line_of_round[16 + 5 * kMostMessages];
  int length = sprintf(line_of_round, "order %d", round);
  for (int i = 0; i < came; ++i) length += sprintf(line_of_round + length, " %d", order[i]);
  puts(line_of_round);
  tell(ranks - 1, kDone, round);
}

static void end_all(void) {
  for (int i = 0; i < ranks - 1; ++i)
    for (int again = 0; again < 3; ++again) tell(i, kEnd, 0);
  for (const double end = now() + 0.5; now() < end;) {
  }
}

/// Place in the tree of infections: 0 is the last rank, which is infected first.
static void infect(int place) {
  int connections[2] = {-1, -1};
  puts("infected");
  for (int i = 0; i < 2 && 2 * place + 1 + i < ranks; ++i) {
    const struct sockaddr_in to = address_of(2 * place + i);
    connections[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    connect(connections[i], (const struct sockaddr *)&to, sizeof to);
  }
  for (int left = (connections[0] >= 0) + (connections[1] >= 0); left > 0; sched_yield()) {
    for (int i = 0; i < 2; ++i) {
      if (connections[i] < 0 || send(connections[i], "w", 1, MSG_NOSIGNAL) != 1) continue;
      connections[i] = -1;
      --left;
    }
  }
}

static void await_worm(void) {
  const int listening = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  const struct sockaddr_in own = address_of(rank);
  if (bind(listening, (const struct sockaddr *)&own, sizeof own) != 0 || listen(listening, 4) != 0)
    perror("listen");
  int connection;
  char byte;
  while ((connection = accept4(listening, NULL, NULL, SOCK_NONBLOCK)) < 0) sched_yield();
  while (recv(connection, &byte, 1, 0) != 1) sched_yield();
  infect(rank + 1);
}

/// The last rank: one round after the other. A round whose messages do not come ends after a while.
static void lead(void) {
  struct message message;
  for (double next = 0;;) {
    if (now() > next) {
      tell(0, kHello, 0);
      next = now() + 0.2;
    }
    if (receive(&message) && message.kind == kGo) break;
  }
  puts("begins");
  if (strcmp(task, "worm") == 0) {
    infect(0);
    for (;;) sched_yield();
  }
  for (int round = 0; round <= rounds; ++round) {
    const double begin = now();
    send_round(round);
    while (now() < begin + 60) {
      if (!receive(&message) || message.round != round) continue;
      if (message.kind == kDone) break;
      if (message.kind == kMessage) send_on(&message);
    }
  }
  end_all();
}

static void follow(void) {
  struct message message;
  if (strcmp(task, "worm") == 0 && rank > 0) await_worm();
  for (;;) {
    if (!receive(&message)) continue;
    if (message.kind == kHello) {
      tell(ranks - 1, kGo, 0);
      if (strcmp(task, "worm") == 0) await_worm();
    }
    if (message.kind == kEnd) return;
    if (message.kind != kMessage) continue;
    if (message.left > 0)
      send_on(&message);
    else
      count(&message);
  }
}

/// The other processors compute.
static void compute_beside(void) {
  const long processors = sysconf(_SC_NPROCESSORS_ONLN);
  for (long i = 1; i < processors; ++i) {
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET((size_t)i, &only);
    if (fork() != 0) continue;
    sched_setaffinity(0, sizeof only, &only);
    for (volatile unsigned sum = 0;; ++sum) {
    }
  }
  cpu_set_t first;
  CPU_ZERO(&first);
  CPU_SET(0, &first);
  sched_setaffinity(0, sizeof first, &first);
}

int main(void) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  mkdir("/proc", 0755);
  read_task();
  load_modules();
  line = socket(AF_INET, SOCK_DGRAM, 0);
  set_up_card();
  mkdir("/sys", 0755);
  mount("sys", "/sys", "sysfs", 0, "");
  puts("guest is ready");
  if (strcmp(task, "idle") == 0)
    for (;;) pause();
  compute_beside();
  if (rank == ranks - 1)
    lead();
  else
    follow();
  puts("done");
  sync();
  reboot(RB_POWER_OFF);
  return 0;
}
