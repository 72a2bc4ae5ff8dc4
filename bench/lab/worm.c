// SPDX-License-Identifier: Apache-2.0
//
// A host among which a worm spreads, after section 3.3.4 of Yoginath's thesis: a service, and a client
// that every 10 to 100 ms asks the service of another host, chosen at random, over TCP; replies have 1
// to 10 KB. An infected client sends the worm, 4 KB, with its request, and the service's host is
// infected then. Host k of N has the address 10.0.0.k.
//
//   worm HOST HOSTS FIRST_S [next-hops]
//
// The first host is infected at FIRST_S; requests begin there. With next-hops, it asks only hosts to
// which its kernel's routes lead first (/proc/net/route): its neighbours on a network of many hops; and ten
// times more seldom, since they share a radio channel.
//
// Leaves the seconds at which it was infected in /out/infected.
#include <arpa/inet.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "clock.h"

enum { kPort = 9001, kWormBytes = 4096 };

static volatile int *infected;  // shared by client and service
static uint64_t state;

static uint32_t below(uint32_t n) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)((state >> 33) % n);
}

static void infect(void) {
  if (*infected) return;
  *infected = 1;
  FILE *const file = fopen("/out/infected", "w");
  fprintf(file, "%.9f\n", now());
  fclose(file);
}

static void write_all(int line, const char *bytes, size_t count) {
  while (count > 0) {
    const ssize_t written = write(line, bytes, count);
    if (written <= 0) return;
    bytes += written;
    count -= (size_t)written;
  }
}

static size_t read_all(int line, char *bytes, size_t most) {
  size_t count = 0;
  for (ssize_t some; count < most && (some = read(line, bytes + count, most - count)) > 0;)
    count += (size_t)some;
  return count;
}

static void serve(void) {
  static char bytes[10240], request[1 + kWormBytes];
  struct sockaddr_in own = {.sin_family = AF_INET, .sin_port = htons(kPort)};
  const int yes = 1, listener = socket(AF_INET, SOCK_STREAM, 0);
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (bind(listener, (struct sockaddr *)&own, sizeof own) != 0 || listen(listener, 128) != 0) exit(1);
  for (;;) {
    const int line = accept(listener, NULL, NULL);
    if (line < 0) continue;
    if (read_all(line, request, 1) == 1 && request[0] == 'w' &&
        read_all(line, request + 1, kWormBytes) == kWormBytes)
      infect();
    write_all(line, bytes, 1024 * (1 + below(10)));
    close(line);
  }
}

/// Another host, by chance; 0 if there is none.
static int any_of(int host, int hosts) {
  const int other = 1 + (int)below((uint32_t)hosts - 1);
  return other + (other >= host);
}

/// The same of the next hops, each as often as its routes are in the table.
static int any_next_hop(void) {
  FILE *const table = fopen("/proc/net/route", "r");
  char text[256];
  uint32_t found = 0, chosen = 0;
  while (table != NULL && fgets(text, sizeof text, table) != NULL) {
    unsigned int destination, gateway, mask;
    if (sscanf(text, "%*s %x %x %*s %*s %*s %*s %x", &destination, &gateway, &mask) != 3) continue;
    if (gateway == 0 && mask != 0xffffffffu) continue;
    if (below(++found) == 0) chosen = ntohl(gateway != 0 ? gateway : destination) & 0xff;
  }
  if (table != NULL) fclose(table);
  return (int)chosen;
}

static void ask(int host) {
  static char request[1 + kWormBytes], reply[10240];
  const struct timeval patience = {.tv_usec = 500000};
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(kPort)};
  to.sin_addr.s_addr = htonl(0x0a000000u + (uint32_t)host);
  const int line = socket(AF_INET, SOCK_STREAM, 0);
  setsockopt(line, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  setsockopt(line, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  if (connect(line, (struct sockaddr *)&to, sizeof to) == 0) {
    request[0] = *infected ? 'w' : 'r';
    write_all(line, request, *infected ? sizeof request : 1);
    read_all(line, reply, sizeof reply);
  }
  close(line);
}

int main(int count, char **words) {
  if (count != 4 && count != 5) return 2;
  const int host = atoi(words[1]), hosts = atoi(words[2]);
  const double first = atof(words[3]);
  signal(SIGPIPE, SIG_IGN);
  infected = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (getrandom(&state, sizeof state, 0) != sizeof state) return 1;
  if (fork() == 0) {
    state = ~state;
    serve();
  }
  const double left = first - now();
  if (left > 0) usleep((useconds_t)(left * 1e6));
  if (host == 1) infect();
  for (;;) {
    usleep((10000 + below(90001)) * (count == 5 ? 10 : 1));
    const int other = count == 5 ? any_next_hop() : any_of(host, hosts);
    if (other != 0) ask(other);
  }
}
