/* SPDX-License-Identifier: Apache-2.0
 *
 * The /out of a guest that is a whole machine (../qemu): a disk in memory with a file system (ext2,
 * in the oldest form: The Second Extended File System, D. Poirier, 2001), which the guest's kernel
 * writes. After the guest has ended, its regular files and folders are copied.
 *
 * The guest may have written any bytes. Where tables lie is taken from the disk as it was before the
 * guest began. All numbers are checked, folders may contain themselves, and files may share blocks:
 * so the copy is limited in bytes, in files and in depth. Links and devices are not copied. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "enter.h"

enum {
	kBlock = 4096,
	kInodeBytes = 256,
	kRootInode = 2,
	kDirect = 12, /* blocks that an inode names itself */
	kPointers = kBlock / 4,
	kMostLevels = 500,
	kMostEntries = 1 << 20, /* unused ones, too */
	kMostName = 255,
	kMagic = 0xef53,
};

struct walk {
	const unsigned char *disk;
	const struct disk *is;
	uint32_t blocks;
	off_t left;
	unsigned int entries, files, failures;
};

static uint32_t number32(const unsigned char *at)
{
	return at[0] | at[1] << 8 | at[2] << 16 | (uint32_t)at[3] << 24;
}

static unsigned int number16(const unsigned char *at)
{
	return at[0] | at[1] << 8;
}

/* ---- Before the guest begins */

void read_superblock(struct disk *disk)
{
	unsigned char super[1024], group[32];

	check(pread(disk->file, super, sizeof super, 1024), "read", "the disk for /out");
	check(pread(disk->file, group, sizeof group, kBlock), "read", "the disk for /out");
	disk->inodes = number32(super);
	disk->blocks = number32(super + 4);
	disk->table = number32(group + 8);
	if (number16(super + 56) != kMagic || number32(super + 24) != 2 ||
	    number16(super + 88) != kInodeBytes || number32(super + 40) < disk->inodes) {
		errno = EINVAL;
		fail("read", "the disk for /out");
	}
}

int make_disk(struct disk *disk, int out, unsigned int mebibytes)
{
	const int from = open("/guest/lab/disk", O_RDONLY | O_CLOEXEC);
	off_t left = (off_t)mebibytes << 20;

	if (from < 0)
		return 0;
	disk->file = openat(out, "disk", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	check(disk->file, "make", "the disk for /out");
	check(copy_data(from, disk->file, &left) ? 0 : -1, "copy", "the disk for /out");
	check(ftruncate(disk->file, (off_t)mebibytes << 20), "make", "the disk for /out");
	close(from);
	read_superblock(disk);
	return 1;
}

/* ---- After the guest has ended */

/* NULL if there is no such block. */
static const unsigned char *block_at(const struct walk *walk, uint32_t number)
{
	return number != 0 && number < walk->blocks ? walk->disk + (size_t)number * kBlock : NULL;
}

static const unsigned char *inode_at(const struct walk *walk, uint32_t number)
{
	const uint32_t at = number - 1, in_block = kBlock / kInodeBytes;
	const unsigned char *block;

	if (number == 0 || number > walk->is->inodes)
		return NULL;
	block = block_at(walk, walk->is->table + at / in_block);
	return block == NULL ? NULL : block + at % in_block * kInodeBytes;
}

/* The block at `index` of a file; 0: a hole; UINT32_MAX: none that there can be. */
static uint32_t block_of(const struct walk *walk, const unsigned char *inode, uint32_t index)
{
	const unsigned char *pointers = inode + 40;
	uint32_t number, reach = 1;

	if (index < kDirect)
		return number32(pointers + 4 * index);
	index -= kDirect;
	pointers += 4 * kDirect;
	if (index >= kPointers) {
		index -= kPointers;
		pointers += 4;
		reach = kPointers;
	}
	if (index / reach >= kPointers)
		return UINT32_MAX;
	for (number = number32(pointers); number != 0 && reach != 0; reach /= kPointers) {
		const unsigned char *const block = block_at(walk, number);

		if (block == NULL)
			return UINT32_MAX;
		number = number32(block + 4 * (index / reach));
		index %= reach;
	}
	return number;
}

static int copy_block(struct walk *walk, uint32_t number, int out, off_t at, size_t bytes)
{
	const unsigned char *const block = block_at(walk, number);

	if (number == 0)
		return 1;
	errno = block == NULL ? EIO : EDQUOT;
	if (block == NULL || (off_t)bytes > walk->left)
		return 0;
	walk->left -= bytes;
	return pwrite(out, block, bytes, at) == (ssize_t)bytes;
}

static int bring_file(struct walk *walk, const unsigned char *inode, int to, const char *name)
{
	const off_t size = number32(inode + 4) | (uint64_t)number32(inode + 108) << 32;
	const int out = openat(to, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	int brought = out >= 0 && ftruncate(out, size) == 0; /* refuses too long ones */

	for (off_t at = 0; brought && at < size; at += kBlock) {
		const size_t bytes = size - at < kBlock ? (size_t)(size - at) : kBlock;

		brought = copy_block(walk, block_of(walk, inode, at / kBlock), out, at, bytes);
	}
	if (out >= 0)
		close(out);
	return brought;
}

static void bring_folder(struct walk *walk, const unsigned char *inode, int to, unsigned int level,
			 const char *name);

static int bring_new_folder(struct walk *walk, const unsigned char *inode, int to, unsigned int level,
			    const char *name)
{
	int own;

	errno = ELOOP;
	if (level >= kMostLevels || mkdirat(to, name, 0755) < 0)
		return 0;
	own = openat(to, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (own < 0)
		return 0;
	bring_folder(walk, inode, own, level + 1, name);
	close(own);
	return 1;
}

/* An entry whose inode is not used yet was being made when the guest ended. */
static int bring_entry(struct walk *walk, const unsigned char *entry, int to, unsigned int level,
		       const char *name)
{
	const unsigned char *const inode = inode_at(walk, number32(entry));

	errno = EIO;
	if (inode == NULL || name[0] == 0 || strchr(name, '/') != NULL)
		return 0;
	errno = EDQUOT;
	if (++walk->files > walk->is->inodes)
		return 0;
	switch (number16(inode) & S_IFMT) {
	case S_IFREG:
		return bring_file(walk, inode, to, name);
	case S_IFDIR:
		return bring_new_folder(walk, inode, to, level, name);
	default:
		return 1;
	}
}

/* The entries of a block of a folder. False if they are not in order. */
static int bring_block(struct walk *walk, const unsigned char *block, int to, unsigned int level)
{
	for (unsigned int at = 0, step; at < kBlock; at += step) {
		const unsigned char *const entry = block + at;
		char name[kMostName + 1] = "";

		step = at + 8 <= kBlock ? number16(entry + 4) : 0;
		if (step < 8 || at + step > kBlock || entry[6] + 8u > step)
			return 0;
		memcpy(name, entry + 8, entry[6]);
		if (number32(entry) != 0 && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 &&
		    !bring_entry(walk, entry, to, level, name))
			not_kept(&walk->failures, name);
		if (++walk->entries > kMostEntries)
			return 0;
	}
	return 1;
}

static void bring_folder(struct walk *walk, const unsigned char *inode, int to, unsigned int level,
			 const char *name)
{
	const uint32_t blocks = number32(inode + 4) / kBlock;

	for (uint32_t i = 0; i < blocks; i++) {
		const unsigned char *const block = block_at(walk, block_of(walk, inode, i));

		if (block == NULL || !bring_block(walk, block, to, level)) {
			errno = EIO;
			not_kept(&walk->failures, name);
			return;
		}
	}
}

int bring_disk(const struct disk *disk, int to, unsigned int mebibytes)
{
	struct walk walk = { .is = disk, .left = (off_t)mebibytes << 20 };
	struct stat status;
	const unsigned char *root;

	check(fstat(disk->file, &status), "read", "the disk for /out");
	walk.blocks = status.st_size / kBlock < disk->blocks ? status.st_size / kBlock : disk->blocks;
	walk.disk = mmap(NULL, status.st_size, PROT_READ, MAP_PRIVATE, disk->file, 0);
	errno = EIO;
	root = walk.disk == MAP_FAILED ? NULL : inode_at(&walk, kRootInode);
	if (root == NULL || !S_ISDIR(number16(root)))
		not_kept(&walk.failures, "all");
	else
		bring_folder(&walk, root, to, 0, "all");
	close(to);
	return all_kept(walk.failures);
}
