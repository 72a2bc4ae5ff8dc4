// SPDX-License-Identifier: Apache-2.0
/*
 * (Or GPL-2.0-only, as part of a kernel.)
 *
 * Numbers of files that lie on the machine, and what they and their file systems take there, which
 * would differ from run to run. Included at the end of fs/hostfs/hostfs_kern.c.
 *
 * Nothing in the host's root can be renamed or made by it, so a file's number there is made of its
 * path, and a file takes the blocks that its size asks for. /out is a file system of the host's own
 * (guest/enter.c), which counts files in the order in which they are made: what it says stays, since a
 * file keeps its number there when it gets another name.
 */
#define LAB_NUMBER_BITS 48 /* programs that take them for floating-point numbers lose nothing */

/* The machine's own numbers are the same in each run. */
static bool lab_is_out(struct super_block *sb)
{
	const struct hostfs_fs_info *fsi = sb->s_fs_info;
	const char *path = fsi->host_root_path + strlen(root_ino);

	path += strspn(path, "/");
	return strncmp(path, "out", 3) == 0 && (path[3] == '/' || path[3] == '\0');
}

/* Of a name in the folder of that number (FNV-1a: Fowler, Noll, Vo). */
static u64 lab_number_below(u64 number, const char *name, size_t length)
{
	const u64 mask = (1ULL << LAB_NUMBER_BITS) - 1;
	size_t i;

	number = ((number ^ '/') * 0x100000001b3ULL) & mask;
	for (i = 0; i < length; i++)
		number = ((number ^ (u8)name[i]) * 0x100000001b3ULL) & mask;
	return number;
}

/* Of the file at a path, for which the machine has another. */
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

/* Of an entry of a folder. */
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

/* What a file takes, in blocks of 512 bytes. */
u64 lab_blocks(struct inode *inode, u64 machines)
{
	if (lab_is_out(inode->i_sb))
		return machines;
	return S_ISREG(inode->i_mode) ? round_up(inode->i_size, 4096) / 512 : 0;
}

/* Of a file system. Only the blocks of /out are the host's own. */
void lab_show_space(struct super_block *sb, struct kstatfs *space)
{
	memset(&space->f_fsid, 0, sizeof(space->f_fsid));
	space->f_files = space->f_ffree = 0;
	if (!lab_is_out(sb))
		space->f_blocks = space->f_bfree = space->f_bavail = 0;
}
