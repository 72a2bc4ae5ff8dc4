/* SPDX-License-Identifier: Apache-2.0
 *
 * Switches a guest off: the one thing for which no program of every Debian can be had. */
#include <sys/reboot.h>
#include <unistd.h>

int main(void) {
  sync();
  return reboot(RB_POWER_OFF) != 0;
}
