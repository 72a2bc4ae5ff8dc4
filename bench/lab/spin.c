// SPDX-License-Identifier: Apache-2.0
//
// Keeps a host busy: system calls, one after the other, from FIRST_S seconds of its clock on for
// SECONDS.
//
//   spin FIRST_S SECONDS
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"

int main(int count, char **words) {
  if (count != 3) return 2;
  const double first = atof(words[1]), end = first + atof(words[2]);
  sleep_until(first);
  while (now() < end) syscall(SYS_getppid);
  return 0;
}
