// SPDX-License-Identifier: Apache-2.0
/*
 * (Or GPL-2.0-only, as part of a kernel.)
 *
 * The order of entries when a host reads a folder of the machine. The machine's order depends on
 * its file system, even between two folders with the same names. Here entries are sorted by hashes
 * of their names, which are also the positions in the folder. So reading can continue after some
 * entries have been removed. Of two names with the same hash (about 1 of 10^8 folders of 2,000
 * entries), one may be left out. Included at the end of fs/hostfs/hostfs_kern.c, after
 * lab_file_numbers.c.
 */
#define LAB_MOST_ENTRIES 512 /* kept in memory at once */

struct lab_entry {
	u64 at, number;
	unsigned int type, length;
	char name[];
};

/* The first entries at or after a position, sorted. */
struct lab_entries {
	unsigned int count;
	struct lab_entry *entry[LAB_MOST_ENTRIES];
};

static u64 lab_place(const char *name, size_t length)
{
	if (name[0] == '.' && (length == 1 || (length == 2 && name[1] == '.')))
		return length - 1;
	return 2 + lab_number_below(0, name, length);
}

static int lab_keep_entry(struct lab_entries *kept, const struct lab_entry *like, const char *name)
{
	struct lab_entry *entry;
	unsigned int i = kept->count;

	while (i > 0 && kept->entry[i - 1]->at > like->at)
		i--;
	if (i == LAB_MOST_ENTRIES)
		return 0;
	entry = kmalloc(struct_size(entry, name, like->length), GFP_KERNEL);
	if (!entry)
		return -ENOMEM;
	*entry = *like;
	memcpy(entry->name, name, like->length);
	if (kept->count == LAB_MOST_ENTRIES)
		kfree(kept->entry[--kept->count]);
	memmove(kept->entry + i + 1, kept->entry + i, (kept->count - i) * sizeof(entry));
	kept->entry[i] = entry;
	kept->count++;
	return 0;
}

static int lab_keep_entries(struct lab_entries *kept, struct file *folder, u64 from, void *stream)
{
	unsigned long long next, number;
	struct lab_entry entry;
	int error = 0, length;
	char *name;

	while (!error && (name = read_dir(stream, &next, &number, &length, &entry.type))) {
		entry.length = length;
		entry.number = lab_entry_number(folder, name, length, number);
		entry.at = lab_place(name, length);
		if (entry.at >= from)
			error = lab_keep_entry(kept, &entry, name);
	}
	return error;
}

/* `stream`: the machine's folder, at its beginning. */
int lab_read_folder(struct file *folder, struct dir_context *to, void *stream)
{
	struct lab_entries *kept = kzalloc(sizeof(*kept), GFP_KERNEL);
	unsigned int i;
	int error;

	if (!kept)
		return -ENOMEM;
	error = lab_keep_entries(kept, folder, to->pos, stream);
	for (i = 0; i < kept->count && !error; i++) {
		const struct lab_entry *const entry = kept->entry[i];

		if (!dir_emit(to, entry->name, entry->length, entry->number, entry->type))
			break;
		to->pos = entry->at + 1;
	}
	for (i = 0; i < kept->count; i++)
		kfree(kept->entry[i]);
	kfree(kept);
	return error;
}
