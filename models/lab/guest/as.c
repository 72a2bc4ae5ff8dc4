/* SPDX-License-Identifier: Apache-2.0
 *
 * Executes a command of a guest's shell as one of the users of its /etc/passwd, without a password.
 * su and runuser ask PAM, whose rules a guest does not have.
 *
 *   as USER COMMAND      exit status of the command; 125 if there is no such user
 *
 * USER is a name or a number, and may have a group, as images of containers write it: "33:www-data".
 */
#define _GNU_SOURCE
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "enter.h"

enum { kNoUser = 125, kMostGroups = 64 };

/* The number that a whole text is; -1 if it is none. */
static long number_of(const char *text)
{
	char *end;
	const unsigned long number = strtoul(text, &end, 10);

	return *text < '0' || *text > '9' || *end != 0 || number > INT_MAX ? -1 : (long)number;
}

/* Reads the file directly: this program is static, and the C library's functions load libraries. A
 * number may be that of no user in the file. */
static const struct passwd *find_user(const char *name)
{
	static struct passwd nameless = { .pw_dir = "/" };
	FILE *const file = fopen("/etc/passwd", "re");
	const long number = number_of(name);
	const struct passwd *one = NULL;

	if (file == NULL && number < 0)
		fail("open", "/etc/passwd");
	while (file != NULL && (one = fgetpwent(file)) != NULL && strcmp(one->pw_name, name) != 0 &&
	       (number < 0 || one->pw_uid != (uid_t)number))
		continue;
	if (file != NULL)
		fclose(file);
	nameless.pw_name = (char *)name;
	nameless.pw_uid = number;
	return one == NULL && number >= 0 ? &nameless : one;
}

/* The number of a group; -1 if there is none of this name. */
static long find_group(const char *name)
{
	FILE *const file = fopen("/etc/group", "re");
	const struct group *one = NULL;
	long number = number_of(name);

	while (number < 0 && file != NULL && (one = fgetgrent(file)) != NULL)
		if (strcmp(one->gr_name, name) == 0)
			number = one->gr_gid;
	if (file != NULL)
		fclose(file);
	return number;
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

	while (file != NULL && (one = fgetgrent(file)) != NULL && count < kMostGroups)
		if (is_member(one, name))
			groups[count++] = one->gr_gid;
	if (file != NULL)
		fclose(file);
	check(setgroups(count, groups), "setgroups", name);
}

/* Takes the groups of a user, or the one that is given. */
static void become(const struct passwd *user, const char *group)
{
	const long given = group == NULL ? -1 : find_group(group);
	const gid_t one = given < 0 ? user->pw_gid : (gid_t)given;

	if (group != NULL && given < 0) {
		dprintf(2, "lab: this host has no group '%s' in its /etc/group\n", group);
		exit(kNoUser);
	}
	if (group == NULL)
		take_groups(user->pw_name, user->pw_gid);
	else
		check(setgroups(1, &one), "setgroups", group);
	check(setgid(one), "setgid", user->pw_name);
	check(setuid(user->pw_uid), "setuid", user->pw_name);
	setenv("HOME", user->pw_dir, 1);
	setenv("USER", user->pw_name, 1);
	setenv("LOGNAME", user->pw_name, 1);
	if (chdir(user->pw_dir) < 0)
		check(chdir("/"), "chdir", "/");
}

int main(int count, char **words)
{
	const struct passwd *user;
	char *group;

	if (count != 3) {
		dprintf(2, "usage: as USER COMMAND\n");
		return 2;
	}
	group = strchr(words[1], ':');
	if (group != NULL)
		*group++ = 0;
	user = find_user(words[1]);
	if (user == NULL) {
		dprintf(2, "lab: this host has no user '%s' in its /etc/passwd\n", words[1]);
		return kNoUser;
	}
	become(user, group);
	execl("/bin/sh", "sh", "-c", words[2], NULL);
	fail("execute", "/bin/sh");
}
