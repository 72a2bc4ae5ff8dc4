// SPDX-License-Identifier: Apache-2.0
//
// A host among which a worm spreads, after section 3.3.4 of Yoginath's thesis. Host k of N has the
// address 10.0.0.k. Programs of a host:
//
//   service   answers requests over TCP with 1 to 10 KB. It has a hole: a certain request opens the
//             backdoor.
//   client    asks the service of a random other host every 10 to 100 ms.
//   backdoor  takes the worm, 4 KB, and starts the agent. The host is infected then.
//   agent     every 10 to 100 ms shoots at a random other host. First it has the service open the
//             backdoor, then it sends the worm there. Each of the two it tries three times at most.
//
//   worm HOST HOSTS FIRST_S [DEVICE]
//
// The first host is infected at FIRST_S, seconds of the host's date (since 1970); requests begin there.
// With DEVICE there are no clients, and an agent shoots every 0.1 to 1 s at a neighbour on a network of
// many hops, which shares one radio channel: a host to which the kernel's routes lead first
// (/proc/net/route), or, if DEVICE is bat0, a neighbour of batman-adv.
//
// Leaves the date of its infection in /out/infected, and in /out/shots a line "HOST TRIES
// OUTCOME" for each shot: opened, infected, closed (it was infected before), failed.
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
#include <time.h>
#include <unistd.h>

enum { kService = 9001, kBackdoor = 9002, kWormBytes = 4096, kTries = 3 };
enum { kAsk = 'r', kExploit = 'x', kOpen = '+', kInfected = 'i' };

static int host, hosts;
static const char *device;  // null: any host can be reached
static volatile int *infected;  // shared by all programs of the host
static uint64_t state;

static uint32_t below(uint32_t n) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)((state >> 33) % n);
}

static double date(void) {
  struct timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void pause_of(uint32_t tens) {
  usleep((10000 + below(90001)) * tens);
}

// ---- Lines

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

static int listen_at(int port) {
  struct sockaddr_in own = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  const int yes = 1, listener = socket(AF_INET, SOCK_STREAM, 0);
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (bind(listener, (struct sockaddr *)&own, sizeof own) != 0 || listen(listener, 128) != 0) exit(1);
  return listener;
}

/// A line to a port of another host, on which nothing takes longer than half a second; -1: none.
static int connect_to(int other, int port) {
  const struct timeval patience = {.tv_usec = 500000};
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  to.sin_addr.s_addr = htonl(0x0a000000u + (uint32_t)other);
  const int line = socket(AF_INET, SOCK_STREAM, 0);
  setsockopt(line, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  setsockopt(line, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  if (connect(line, (struct sockaddr *)&to, sizeof to) == 0) return line;
  close(line);
  return -1;
}

// ---- Another host, by chance; 0: there is none

static int any_host(void) {
  const int other = 1 + (int)below((uint32_t)hosts - 1);
  return other + (other >= host);
}

/// Next hops, each as often as its routes are in the table.
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

/// The host with this Ethernet address, by the list from which all hosts know all addresses.
static int host_of(const char *address) {
  FILE *const list = fopen("/root/neighbours", "r");
  char text[256], of[32];
  int found = 0, one;
  while (list != NULL && fgets(text, sizeof text, list) != NULL)
    if (sscanf(text, "neigh replace 10.0.0.%d lladdr %31s", &one, of) == 2 && strcmp(of, address) == 0)
      found = one;
  if (list != NULL) fclose(list);
  return found;
}

/// A line of `batctl neighbors`: interface, address, time since its last message.
static int any_neighbour(void) {
  FILE *const list = popen("batctl meshif bat0 neighbors -H 2>/root/neighbours.log", "r");
  char text[256], address[32];
  uint32_t found = 0;
  int chosen = 0;
  while (list != NULL && fgets(text, sizeof text, list) != NULL) {
    if (sscanf(text, "%*s %31s", address) != 1 || host_of(address) == 0) continue;
    if (below(++found) == 0) chosen = host_of(address);
  }
  if (list != NULL) pclose(list);
  return chosen;
}

static int any_other(void) {
  if (device == NULL) return any_host();
  return strcmp(device, "bat0") == 0 ? any_neighbour() : any_next_hop();
}

// ---- Agent

/// What the other end answers to the bytes, in its first byte; 0: nothing, in `kTries`.
static char tell(int other, int port, const char *bytes, size_t count, int *tries) {
  for (int i = 0; i < kTries; ++i) {
    ++*tries;
    const int line = connect_to(other, port);
    char answer = 0;
    if (line >= 0) {
      write_all(line, bytes, count);
      read_all(line, &answer, 1);
      close(line);
    }
    if (answer != 0) return answer;
  }
  return 0;
}

static void shoot(int other, FILE *shots) {
  static const char worm[kWormBytes] = "worm", exploit = kExploit;
  int tries = 0;
  const char *outcome = "failed";
  const char answer = tell(other, kService, &exploit, 1, &tries);
  if (answer == kInfected) outcome = "closed";
  if (answer == kOpen)
    outcome = tell(other, kBackdoor, worm, sizeof worm, &tries) == kInfected ? "infected" : "opened";
  fprintf(shots, "%d %d %s\n", other, tries, outcome);
  fflush(shots);
}

/// Infects this host; returns at once.
static void infect(void) {
  if (*infected) return;
  *infected = 1;
  FILE *const file = fopen("/out/infected", "w");
  fprintf(file, "%.6f\n", date());
  fclose(file);
  if (fork() != 0) return;
  state ^= 0x9e3779b97f4a7c15u;
  FILE *const shots = fopen("/out/shots", "w");
  for (;;) {
    pause_of(device == NULL ? 1 : 10);
    const int other = any_other();
    if (other != 0) shoot(other, shots);
  }
}

// ---- What else a host executes

static void keep_backdoor(int listener) {
  static char worm[kWormBytes];
  const char answer = kInfected;
  while (!*infected) {
    const int line = accept(listener, NULL, NULL);
    if (line < 0) continue;
    const struct timeval patience = {.tv_sec = 1};
    setsockopt(line, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (read_all(line, worm, sizeof worm) == sizeof worm) {
      infect();
      write_all(line, &answer, 1);
    }
    close(line);
  }
  exit(0);
}

/// The answer to an exploit.
static char open_backdoor(void) {
  static int is_open;
  if (*infected) return kInfected;
  if (!is_open) {
    const int listener = listen_at(kBackdoor);
    if (fork() == 0) keep_backdoor(listener);
    close(listener);
    is_open = 1;
  }
  return kOpen;
}

static void serve(void) {
  static char bytes[10240];
  const int listener = listen_at(kService);
  for (;;) {
    const int line = accept(listener, NULL, NULL);
    if (line < 0) continue;
    char request = 0;
    read_all(line, &request, 1);
    if (request == kExploit) {
      const char answer = open_backdoor();
      write_all(line, &answer, 1);
    } else {
      write_all(line, bytes, 1024 * (1 + below(10)));
    }
    close(line);
  }
}

static void ask(int other) {
  static char reply[10240];
  const char request = kAsk;
  const int line = connect_to(other, kService);
  if (line < 0) return;
  write_all(line, &request, 1);
  read_all(line, reply, sizeof reply);
  close(line);
}

int main(int count, char **words) {
  if (count != 4 && count != 5) return 2;
  host = atoi(words[1]);
  hosts = atoi(words[2]);
  const double first = atof(words[3]);
  if (count == 5) device = words[4];
  signal(SIGPIPE, SIG_IGN);
  infected = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (getrandom(&state, sizeof state, 0) != sizeof state) return 1;
  if (fork() == 0) {
    state = ~state;
    serve();
  }
  for (double left; (left = first - date()) > 0;) usleep((useconds_t)(left * 1e6) + 1);
  if (host == 1) infect();
  for (;;) {
    pause_of(1);
    if (device == NULL) ask(any_host());
  }
}
