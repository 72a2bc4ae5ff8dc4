// SPDX-License-Identifier: Apache-2.0
/*
 * (Or GPL-2.0-only, as part of a kernel.)
 *
 * Inode numbers of files on the machine, and the space that files and file systems take there. The
 * machine's values would differ from run to run. Included at the end of fs/hostfs/hostfs_kern.c.
 *
 * The host cannot rename or make files in its root. So a file's number there is a hash of its path,
 * and its blocks follow from its size. /out is a file system of the host's own (guest/enter.c),
 * which numbers files in the order in which they are made. These numbers are kept, since a renamed
 * file must keep its number.
 */
#define LAB_NUMBER_BITS 48 /* exact in programs that convert numbers to double */

/* Whether a file system is /out, where the machine's numbers are the same in each run. */
static bool lab_is_out(struct super_block *sb)
{
	const struct hostfs_fs_info *fsi = sb->s_fs_info;
	const char *path = fsi->host_root_path + strlen(root_ino);

	path += strspn(path, "/");
	return strncmp(path, "out", 3) == 0 && (path[3] == '/' || path[3] == '\0');
}

/* Number of a name in the folder with that number (FNV-1a: Fowler, Noll, Vo). */
static u64 lab_number_below(u64 number, const char *name, size_t length)
{
	const u64 mask = (1ULL << LAB_NUMBER_BITS) - 1;
	size_t i;

	number = ((number ^ '/') * 0x100000001b3ULL) & mask;
	for (i = 0; i < length; i++)
		number = ((number ^ (u8)name[i]) * 0x100000001b3ULL) & mask;
	return number;
}

/* Number of the file at a path; `machines`: its number on the machine. */
u64 lab_number(struct super_block *sb, const char *path, u64 machines)
{
	u64 number = 0x222325;
	size_t length;

	if (lab_is_out(sb))
		return machines;
	for (path += strspn(path, "/"); *path; path += length, path += strspn(path, "/")) {
		length = strcspn(path, "/");
		number = lab_number_below(number, path, length);
	}
	return number;
}

/* Number of an entry of a folder. */
u64 lab_entry_number(struct file *folder, const char *name, size_t length, u64 machines)
{
	struct dentry *const dentry = folder->f_path.dentry;

	if (lab_is_out(dentry->d_sb))
		return machines;
	if (length == 1 && name[0] == '.')
		return file_inode(folder)->i_ino;
	if (length == 2 && name[0] == '.' && name[1] == '.')
		return d_parent_ino(dentry);
	return lab_number_below(file_inode(folder)->i_ino, name, length);
}

/* Space of a file, in blocks of 512 bytes. */
u64 lab_blocks(struct inode *inode, u64 machines)
{
	if (lab_is_out(inode->i_sb))
		return machines;
	return S_ISREG(inode->i_mode) ? round_up(inode->i_size, 4096) / 512 : 0;
}

/* Space of a file system. Only the blocks of /out are the host's own. */
void lab_show_space(struct super_block *sb, struct kstatfs *space)
{
	memset(&space->f_fsid, 0, sizeof(space->f_fsid));
	space->f_files = space->f_ffree = 0;
	if (!lab_is_out(sb))
		space->f_blocks = space->f_bfree = space->f_bavail = 0;
}
