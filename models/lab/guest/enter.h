// SPDX-License-Identifier: Apache-2.0
//
// The parts of the program enter, which starts a guest (enter.c): what they have in common.
#ifndef LAB_ENTER_H
#define LAB_ENTER_H

/* Ends the program: "lab: WHAT WHICH: the error of the last system call". */
_Noreturn void fail(const char* what, const char* which);
/* Fails if `result` is negative. */
void check(long result, const char* what, const char* which);
/* Text in a buffer that is used again after a few calls: for arguments only. */
const char* text(const char* format, ...) __attribute__((format(printf, 1, 2)));

/* Makes the root of the guest's kernel and goes there (root.c). Returns /out of the guest, open. */
int make_root(const char* folder, const char* kernel, const char* guest_root,
              unsigned int out_mebibytes);

/* From here on this process and all that it starts can do what a guest's kernel needs, and nothing
 * else, whatever it executes (confine.c). */
void confine(void);

/* Copies regular files and folders from one folder to another (results.c). False, with the reason
 * on the console, if anything was not copied; at most so many mebibytes are. */
int bring_results(int from, int to, unsigned int mebibytes);

#endif
