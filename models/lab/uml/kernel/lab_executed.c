// SPDX-License-Identifier: Apache-2.0
/*
 * (Or GPL-2.0-only, as part of a kernel.)
 *
 * Lists the files that the host executes: programs, scripts, their interpreters and libraries, and
 * every other file that is mapped to be executed. Each file is listed once. The list is appended to
 * a file of the machine that is open from the beginning (lab_executed=DESCRIPTOR). An entry is a
 * letter and a path, which ends with a zero.
 *
 *   f   a file of the machine, with its path as this kernel's process sees it
 *   r   a file of the image that is the host's root, with its path as the host's programs see it
 *   o   a file of the host, with its path as the host's programs see it
 *   +   there were more files than there is room for (with an empty path)
 *
 * Takes no virtual time and changes nothing that programs see. Included at the end of
 * fs/hostfs/hostfs_kern.c, which knows the places of its files.
 */
#include <linux/list.h>
#include <linux/magic.h>
#include <linux/mutex.h>
#include <lab.h>
#include <os.h>

#define LAB_MOST_EXECUTED_BYTES (1 << 20)

struct lab_executed {
	struct hlist_node others;
	char kind;
	char path[];
};

static int lab_executed_file = -1;
static struct hlist_head lab_executed[64];
static unsigned int lab_executed_bytes;
static DEFINE_MUTEX(lab_executed_mutex);

static int __init lab_set_executed(char *text)
{
	return kstrtoint(text, 0, &lab_executed_file) == 0;
}
__setup("lab_executed=", lab_set_executed);

/* The file itself, if an overlay shows a file of another file system. */
static struct dentry *lab_real(const struct path *path)
{
	struct dentry *real = d_real(path->dentry, D_REAL_DATA);

	return IS_ERR_OR_NULL(real) ? path->dentry : real;
}

static void lab_write_executed(char kind, const char *path)
{
	const int bytes = strlen(path) + 1;

	if (os_write_file(lab_executed_file, &kind, 1) == 1 &&
	    os_write_file(lab_executed_file, path, bytes) == bytes)
		return;
	printk(KERN_ERR "lab: what is executed cannot be written down any more\n");
	lab_executed_file = -1;
}

static void lab_tell_executed(char kind, const char *path)
{
	const size_t bytes = strlen(path) + 1;
	struct hlist_head *const list =
		&lab_executed[full_name_hash(NULL, path, bytes) % ARRAY_SIZE(lab_executed)];
	struct lab_executed *one;

	hlist_for_each_entry(one, list, others)
		if (one->kind == kind && strcmp(one->path, path) == 0)
			return;
	one = lab_executed_bytes + bytes < LAB_MOST_EXECUTED_BYTES ?
		      kmalloc(struct_size(one, path, bytes), GFP_KERNEL) :
		      NULL;
	if (!one) {
		lab_write_executed('+', "");
		lab_executed_file = -1;
		return;
	}
	one->kind = kind;
	memcpy(one->path, path, bytes);
	hlist_add_head(&one->others, list);
	lab_executed_bytes += 1 + bytes;
	lab_write_executed(kind, path);
}

void lab_note_executed(struct file *file)
{
	const struct path *const seen = file_user_path(file);
	struct dentry *const real = lab_real(seen);
	const bool is_machines = real->d_sb->s_magic == HOSTFS_SUPER_MAGIC;
	const char kind = is_machines ? 'f' : real->d_sb->s_magic == SQUASHFS_MAGIC ? 'r' : 'o';
	char *name, *path;

	if (lab_executed_file < 0)
		return;
	name = path = is_machines ? dentry_name(real) : __getname();
	if (name && !is_machines)
		path = d_path(seen, name, PATH_MAX);
	mutex_lock(&lab_executed_mutex);
	if (lab_executed_file >= 0)
		lab_tell_executed(kind, IS_ERR_OR_NULL(path) ? "" : path);
	mutex_unlock(&lab_executed_mutex);
	if (name)
		__putname(name);
}
