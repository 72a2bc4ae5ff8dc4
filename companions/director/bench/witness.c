// SPDX-License-Identifier: Apache-2.0
//
// A process that only reads its clocks, and says what it was charged for without running: where the
// time that it has consumed goes on by more than a millisecond between two readings that follow each
// other, nothing of it ran in between. On a virtual machine a core that the machine below has taken
// away for a while does that. A line each, on standard output: the milliseconds that were charged.
#include <stdio.h>
#include <time.h>

enum { kNanosecondsOfLine = 1000000 };

static long long consumed(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

int main(void) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  for (long long last = consumed();;) {
    const long long now = consumed();
    if (now - last > kNanosecondsOfLine) printf("%.3f\n", (double)(now - last) / 1e6);
    last = now;
  }
}
