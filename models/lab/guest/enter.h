// SPDX-License-Identifier: Apache-2.0
//
// Functions that programs of this folder share: errors and texts (support.c), and the parts of enter,
// which starts a guest (enter.c).
#ifndef LAB_ENTER_H
#define LAB_ENTER_H

#include <sys/types.h>

/* Ends the program: "lab: WHAT WHICH: the error of the last system call". */
_Noreturn void fail(const char* what, const char* which);
/* Fails if `result` is negative. */
void check(long result, const char* what, const char* which);
/* Formats text into a buffer that is reused after a few calls; for arguments only. */
const char* text(const char* format, ...) __attribute__((format(printf, 1, 2)));

/* Makes the root of the guest's kernel and enters it (root.c). Returns the guest's /out, open. */
int make_root(const char* folder, const char* kernel, const char* guest_root,
              unsigned int out_mebibytes);

/* The system calls that a guest's kernel needs (calls.c). */
struct calls {
  const char* name;
  /* Allowed with any arguments. */
  const unsigned int* all;
  unsigned int count;
  /* Allowed only with these values in the lower half of the first or second argument. */
  const struct limited_call { unsigned int call, argument, count, values[10]; } * limited;
  unsigned int limited_count;
  unsigned int clone_flag; /* without this flag, no clone: CLONE_THREAD allows only threads */
};
/* The calls with this name, or NULL. */
const struct calls* calls_of(const char* name);

/* From now on this process and its children can only do what a guest's kernel needs, whatever
 * they execute (confine.c). */
void confine(const struct calls* calls);

/* Copies regular files and folders from one folder to another (results.c), at most `mebibytes`.
 * Returns false, with the reason on the console, if not all was copied. */
int bring_results(int from, int to, unsigned int mebibytes);
/* Copies the data of a file, of which `*left` bytes are allowed, without holes. */
int copy_data(int in, int out, off_t* left);
/* Counts a failure to copy, and tells the first: the file's name and errno. */
void not_kept(unsigned int* failures, const char* name);
/* Tells how many failures there were, and returns whether there was none. */
int all_kept(unsigned int failures);

/* The /out of a guest that is a whole machine (disk.c). */
struct disk {
  int file;
  unsigned int inodes, table, blocks; /* of its file system */
};
/* Makes /guest/out/disk, open in `*disk`, of /guest/lab/disk. Returns false if there is no such file,
 * and then /guest/out itself is the guest's /out. */
int make_disk(struct disk* disk, int out, unsigned int mebibytes);
/* Says where the tables of the disk lie that is open as disk->file. */
void read_superblock(struct disk* disk);
/* As bring_results(), from the disk. */
int bring_disk(const struct disk* disk, int to, unsigned int mebibytes);

#endif
