/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies the files that a guest has left in /out, after the guest has ended. The guest chose all
 * names, depths and sizes. So links are not followed, holes are not written, and the copy is
 * limited in bytes and in depth (programs that remove a folder hold a file open for each level). */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "enter.h"

enum { kMostLevels = 500, kFolder = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC };

/* Copies the part of a file between two holes. Returns the number of bytes copied, or -1. */
static off_t copy_part(int in, int out, off_t from, off_t to)
{
	char part[65536];
	const off_t first = from;

	while (from < to) {
		const size_t wanted = to - from < (off_t)sizeof part ? (size_t)(to - from) : sizeof part;
		const ssize_t bytes = pread(in, part, wanted, from);

		if (bytes <= 0)
			return -1;
		if (pwrite(out, part, bytes, from) != bytes)
			return -1;
		from += bytes;
	}
	return from - first;
}

int copy_data(int in, int out, off_t *left)
{
	struct stat status;
	off_t at = 0, end;

	if (fstat(in, &status) < 0 || ftruncate(out, status.st_size) < 0)
		return 0;
	for (; (at = lseek(in, at, SEEK_DATA)) >= 0; at = end) {
		end = lseek(in, at, SEEK_HOLE);
		if (end < 0)
			return 0;
		if (end - at > *left) {
			errno = EDQUOT;
			return 0;
		}
		if (copy_part(in, out, at, end) < 0)
			return 0;
		*left -= end - at;
	}
	return errno == ENXIO; /* no data after that place */
}

static int copy_file(const char *from, int to, const char *name, off_t *left)
{
	const int in = open(from, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	const int out = in < 0 ? -1 : openat(to, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	int copied = out >= 0 && copy_data(in, out, left);

	if (in >= 0)
		close(in);
	if (out >= 0 && close(out) < 0)
		copied = 0;
	return copied;
}

/* Moves *to to another folder, given by its name in *to. */
static int go(int *to, const char *name)
{
	const int next = openat(*to, name, kFolder);

	if (next < 0)
		return 0;
	close(*to);
	*to = next;
	return 1;
}

/* Makes a folder and enters it. A folder that cannot be made is left out. */
static int bring_folder(FTS *tree, FTSENT *entry, int *to)
{
	if (entry->fts_level > kMostLevels)
		errno = ELOOP;
	else if (mkdirat(*to, entry->fts_name, 0755) == 0 && go(to, entry->fts_name))
		return 1;
	entry->fts_number = 1; /* marks for the visit at its end: not entered */
	fts_set(tree, entry, FTS_SKIP);
	return 0;
}

static int bring(FTS *tree, FTSENT *entry, int *to, off_t *left)
{
	switch (entry->fts_info) {
	case FTS_D:
		return entry->fts_level == 0 || bring_folder(tree, entry, to);
	case FTS_DP:
		return entry->fts_level == 0 || entry->fts_number || go(to, "..");
	case FTS_F:
		return copy_file(entry->fts_accpath, *to, entry->fts_name, left);
	case FTS_DNR: /* was entered, and is not visited again at its end */
		if (entry->fts_level > 0 && !entry->fts_number)
			go(to, "..");
		/* fall through */
	case FTS_DC:
	case FTS_ERR:
	case FTS_NS:
		errno = entry->fts_errno;
		return 0;
	default: /* links, FIFOs, sockets: not copied */
		return 1;
	}
}

/* Prints the name with printable characters only, as a guest chose it. */
void not_kept(unsigned int *failures, const char *name)
{
	const char *const reason = errno == EDQUOT ? "there is more than /out may hold" :
				   errno == ELOOP  ? "folders are nested too deeply" :
						     strerror(errno);
	char shown[64];
	size_t length = 0;

	if ((*failures)++ > 0)
		return;
	for (; name[length] && length + 1 < sizeof shown; length++)
		shown[length] = name[length] < ' ' || name[length] > '~' ? '?' : name[length];
	shown[length] = 0;
	dprintf(2, "lab: '%s' of /out could not be kept: %s\n", shown, reason);
}

int all_kept(unsigned int failures)
{
	if (failures > 1)
		dprintf(2, "lab: and %u more\n", failures - 1);
	return failures == 0;
}

int bring_results(int from, int to, unsigned int mebibytes)
{
	char here[] = ".", *const paths[] = { here, NULL };
	off_t left = (off_t)mebibytes << 20;
	unsigned int failures = 0;
	FTSENT *entry;
	FTS *tree;

	if (fchdir(from) < 0 || (tree = fts_open(paths, FTS_PHYSICAL, NULL)) == NULL) {
		not_kept(&failures, "all");
		return 0;
	}
	while ((entry = fts_read(tree)) != NULL)
		if (!bring(tree, entry, &to, &left))
			not_kept(&failures, entry->fts_name);
	if (errno != 0)
		not_kept(&failures, "all");
	fts_close(tree);
	close(to);
	return all_kept(failures);
}
