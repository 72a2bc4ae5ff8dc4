/* SPDX-License-Identifier: Apache-2.0
 *
 * Executes a command of a guest's shell as one of the users of its /etc/passwd, without a password.
 * su and runuser ask PAM, whose rules a guest does not have.
 *
 *   as USER COMMAND      exit status of the command; 125 if there is no such user
 */
#define _GNU_SOURCE
#include <grp.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "enter.h"

enum { kNoUser = 125, kMostGroups = 64 };

/* Reads the file directly: this program is static, and the C library's functions load libraries. */
static const struct passwd *find_user(const char *name)
{
	FILE *const file = fopen("/etc/passwd", "re");
	const struct passwd *one = NULL;

	if (file == NULL)
		fail("open", "/etc/passwd");
	while ((one = fgetpwent(file)) != NULL && strcmp(one->pw_name, name) != 0)
		continue;
	fclose(file);
	return one;
}

static bool is_member(const struct group *group, const char *name)
{
	for (char **member = group->gr_mem; *member != NULL; member++)
		if (strcmp(*member, name) == 0)
			return true;
	return false;
}

static void take_groups(const char *name, gid_t own)
{
	FILE *const file = fopen("/etc/group", "re");
	gid_t groups[kMostGroups] = { own };
	const struct group *one;
	int count = 1;

	if (file == NULL)
		fail("open", "/etc/group");
	while ((one = fgetgrent(file)) != NULL && count < kMostGroups)
		if (is_member(one, name))
			groups[count++] = one->gr_gid;
	fclose(file);
	check(setgroups(count, groups), "setgroups", name);
}

int main(int count, char **words)
{
	const struct passwd *user;

	if (count != 3) {
		dprintf(2, "usage: as USER COMMAND\n");
		return 2;
	}
	user = find_user(words[1]);
	if (user == NULL) {
		dprintf(2, "lab: this host has no user '%s' in its /etc/passwd\n", words[1]);
		return kNoUser;
	}
	take_groups(words[1], user->pw_gid);
	check(setgid(user->pw_gid), "setgid", words[1]);
	check(setuid(user->pw_uid), "setuid", words[1]);
	setenv("HOME", user->pw_dir, 1);
	setenv("USER", words[1], 1);
	setenv("LOGNAME", words[1], 1);
	if (chdir(user->pw_dir) < 0)
		check(chdir("/"), "chdir", "/");
	execl("/bin/sh", "sh", "-c", words[2], NULL);
	fail("execute", "/bin/sh");
}
