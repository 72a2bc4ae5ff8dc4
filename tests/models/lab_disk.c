/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies the files of a disk as enter does (lab_disk_test.py compiles it with models/lab/guest/disk.c):
 * lab_disk EMPTY DISK FOLDER, the disk as it was before the guest began and as the guest left it. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>

#include "enter.h"

int main(int count, char **words)
{
	const struct rlimit most = { 64 << 20, 64 << 20 };
	struct disk disk = { .file = -1 };
	int folder;

	if (count != 4)
		return 2;
	disk.file = open(words[1], O_RDONLY);
	check(disk.file, "open", words[1]);
	read_superblock(&disk);
	disk.file = open(words[2], O_RDONLY);
	check(disk.file, "open", words[2]);
	folder = open(words[3], O_PATH | O_DIRECTORY);
	check(folder, "open", words[3]);
	signal(SIGXFSZ, SIG_IGN);
	check(setrlimit(RLIMIT_FSIZE, &most), "limit", "files");
	return bring_disk(&disk, folder, 128) ? 0 : 3;
}
