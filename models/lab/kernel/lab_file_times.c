// SPDX-License-Identifier: Apache-2.0
/*
 * (Or GPL-2.0-only, as part of a kernel.)
 *
 * Times of files that lie on the machine, which would show the date there, and differ from run to
 * run. Included at the end of fs/hostfs/hostfs_kern.c.
 *
 * What the machine had before shows when it was changed, and as if it had not been read or renamed
 * since. What was made for the host, in its root and in /out, is on the file system that the root of
 * a mount is on, and has the date of the machine or one that the host has given it. The machine's is
 * one that has not come yet for the host, and shows as the host's start; a file of /out is given the
 * one at which the host wrote it when it is closed.
 */
#include <linux/timekeeping.h>

static bool lab_made_for_host(struct inode *inode)
{
	struct dentry *const root = inode->i_sb->s_root;

	return !root || HOSTFS_I(d_inode(root))->dev == HOSTFS_I(inode)->dev;
}

/* Its times are those of the machine. */
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

/* It has been made now. */
void lab_begin_times(struct inode *inode)
{
	struct timespec64 now;

	ktime_get_coarse_real_ts64(&now);
	inode_set_atime_to_ts(inode, now);
	inode_set_mtime_to_ts(inode, now);
	inode_set_ctime_to_ts(inode, now);
}

/* A file of it is closed. */
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
