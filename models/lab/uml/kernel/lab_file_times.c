// SPDX-License-Identifier: Apache-2.0
/*
 * (Or GPL-2.0-only, as part of a kernel.)
 *
 * Times of files on the machine. The machine's times would show the date there, and would differ
 * from run to run. Included at the end of fs/hostfs/hostfs_kern.c.
 *
 * A file that the machine had before shows the time of its last change, also as the time of access
 * and of inode change. A file that was made for the host, in its root and in /out (file systems of
 * their own, guest/root.c), has the machine's date or a date that the host has set. The machine's
 * date lies in the future of the host, and shows as the host's start. When a file of /out is
 * closed, it gets the date at which the host wrote it.
 *
 * Also their owners: all files outside of /out belong to the host's root. Their owners on the
 * machine depend on the user of the laboratory: other users see nobody as the owner where root sees
 * root.
 */
#include <linux/timekeeping.h>

static dev_t lab_device(const char *path)
{
	struct hostfs_stat st;

	return stat_file(path, &st, -1) ? 0 : MKDEV(st.dev.maj, st.dev.min);
}

static bool lab_is_in_out(struct inode *inode)
{
	static dev_t out;

	if (!out)
		out = lab_device("/guest/out");
	return HOSTFS_I(inode)->dev == out;
}

static bool lab_made_for_host(struct inode *inode)
{
	static dev_t root;

	if (!root)
		root = lab_device("/guest/");
	return HOSTFS_I(inode)->dev == root || lab_is_in_out(inode);
}

void lab_show_owner(struct inode *inode)
{
	if (lab_is_in_out(inode))
		return;
	i_uid_write(inode, 0);
	i_gid_write(inode, 0);
}

/* Converts times from the machine. */
void lab_show_times(struct inode *inode)
{
	struct timespec64 time = inode_get_mtime(inode), now;

	ktime_get_coarse_real_ts64(&now); /* takes no virtual time */
	if (lab_made_for_host(inode) && timespec64_compare(&time, &now) > 0)
		getboottime64(&time);
	inode_set_atime_to_ts(inode, time);
	inode_set_mtime_to_ts(inode, time);
	inode_set_ctime_to_ts(inode, time);
}

/* The file has been made now. */
void lab_begin_times(struct inode *inode)
{
	struct timespec64 now;

	ktime_get_coarse_real_ts64(&now);
	inode_set_atime_to_ts(inode, now);
	inode_set_mtime_to_ts(inode, now);
	inode_set_ctime_to_ts(inode, now);
}

/* An open file of the inode is closed. */
void lab_keep_times(struct inode *inode, struct file *file)
{
	const struct timespec64 time = inode_get_mtime(inode);
	struct hostfs_iattr is = {
		.ia_valid = HOSTFS_ATTR_MTIME_SET,
		.ia_mtime = { time.tv_sec, time.tv_nsec },
	};

	if (file->f_mode & FMODE_WRITE)
		set_attr(NULL, &is, HOSTFS_I(inode)->fd);
}
