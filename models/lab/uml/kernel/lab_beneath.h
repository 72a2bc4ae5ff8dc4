// SPDX-License-Identifier: Apache-2.0
/*
 * (Or GPL-2.0-only, as part of a kernel.)
 *
 * Paths of hostfs. Root on a host chooses which folder of the machine to mount, so a path may hold
 * anything. The machine's kernel resolves each path below /guest, the root that the host was given.
 * If the path leads out of /guest or over a symbolic link, the call fails (openat2(2), Linux 5.6).
 * Included in fs/hostfs/hostfs_user.c, whose calls with a path use these functions.
 *
 * In /out the owner of a file may always read and write it, whatever its mode: the host's root may
 * do so, but its kernel's process has no capability to do so on the machine.
 */
#ifndef LAB_BENEATH_H
#define LAB_BENEATH_H

#include <limits.h>
#include <linux/openat2.h>

static int lab_root(void) {
  static int root = -1;

  if (root < 0) root = open("/guest", O_PATH | O_DIRECTORY | O_CLOEXEC);
  return root;
}

/* Whether a path has "..", which only the option of a mount can contain. */
static int lab_climbs(const char* path) {
  size_t length;

  for (; *path; path += length, path += strspn(path, "/")) {
    length = strcspn(path, "/");
    if (length == 2 && path[0] == '.' && path[1] == '.') return 1;
  }
  return 0;
}

/* A path relative to /guest; NULL if the path is not below /guest. */
static const char* lab_below(const char* path) {
  static const char root[] = "/guest/";

  if (strncmp(path, root, sizeof(root) - 1) != 0) {
    errno = EACCES;
    return NULL;
  }
  path += sizeof(root) - 1;
  path += strspn(path, "/");
  if (lab_climbs(path)) {
    errno = EACCES;
    return NULL;
  }
  return *path ? path : ".";
}

static int lab_open_below(const char* below, unsigned long long flags, unsigned int mode) {
  struct open_how how = {
      .flags = flags | O_CLOEXEC | O_NOFOLLOW,
      .mode = mode,
      .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
  };

  return below ? syscall(SYS_openat2, lab_root(), below, &how, sizeof(how)) : -1;
}

static int lab_open(const char* path, int flags, unsigned int mode) {
  return lab_open_below(lab_below(path), flags, mode);
}

/* Closes a file that was open for one call; keeps errno and returns `result`. */
static int lab_close(int fd, int result) {
  const int error = errno;

  if (fd >= 0) close(fd);
  errno = error;
  return result;
}

/* Opens the folder of the path's last name, and copies that name to `name`. */
static int lab_folder_of(const char* path, char* name) {
  char below[PATH_MAX], *last;

  path = lab_below(path);
  if (!path) return -1;
  if (strlen(path) >= sizeof(below)) {
    errno = ENAMETOOLONG;
    return -1;
  }
  strcpy(below, path);
  last = strrchr(below, '/');
  path = last ? last + 1 : below;
  if (!*path || !strcmp(path, ".") || !strcmp(path, "..") || strlen(path) > NAME_MAX) {
    errno = EINVAL;
    return -1;
  }
  strcpy(name, path);
  if (last) *last = 0;
  return lab_open_below(last ? below : ".", O_PATH | O_DIRECTORY, 0);
}

/* Makes a call with an open folder and a name in it, instead of a path. */
#define LAB_IN_FOLDER(path, call)                   \
  ({                                                \
    char name[NAME_MAX + 1];                        \
    const int folder = lab_folder_of((path), name); \
    lab_close(folder, folder < 0 ? -1 : (call));    \
  })

static int lab_statx(int fd, const char* path, int flags, unsigned int mask, struct statx* to) {
  int at;

  if (fd >= 0) return statx(fd, "", flags | AT_EMPTY_PATH, mask, to);
  at = lab_open(path, O_PATH, 0);
  return lab_close(at, at < 0 ? -1 : statx(at, "", flags | AT_EMPTY_PATH, mask, to));
}

static int lab_access(const char* path, int mode) {
  const int at = lab_open(path, O_PATH, 0);

  return lab_close(at, at < 0 ? -1 : syscall(SYS_faccessat2, at, "", mode, AT_EMPTY_PATH));
}

static DIR* lab_opendir(const char* path) {
  const int at = lab_open(path, O_RDONLY | O_DIRECTORY, 0);
  DIR* folder = at < 0 ? NULL : fdopendir(at);

  if (!folder) lab_close(at, 0);
  return folder;
}

static int lab_chmod(const char* path, unsigned int mode) {
  struct statx is;

  if (lab_statx(-1, path, AT_SYMLINK_NOFOLLOW, STATX_TYPE, &is) < 0) return -1;
  mode |= S_ISDIR(is.stx_mode) ? 0700 : 0600;
  return LAB_IN_FOLDER(path, fchmodat(folder, name, mode, 0));
}

static int lab_chown(const char* path, uid_t user, gid_t group) {
  return LAB_IN_FOLDER(path, fchownat(folder, name, user, group, AT_SYMLINK_NOFOLLOW));
}

static int lab_truncate(const char* path, long long size) {
  const int at = lab_open(path, O_WRONLY, 0);

  return lab_close(at, at < 0 ? -1 : ftruncate(at, size));
}

static int lab_utimes(const char* path, const struct timeval* times) {
  const struct timespec to[2] = {
      {times[0].tv_sec, times[0].tv_usec * 1000},
      {times[1].tv_sec, times[1].tv_usec * 1000},
  };

  return LAB_IN_FOLDER(path, utimensat(folder, name, to, AT_SYMLINK_NOFOLLOW));
}

static int lab_symlink(const char* to, const char* path) {
  return LAB_IN_FOLDER(path, symlinkat(to, folder, name));
}

static int lab_unlink(const char* path, int flags) {
  return LAB_IN_FOLDER(path, unlinkat(folder, name, flags));
}

static int lab_mkdir(const char* path, unsigned int mode) {
  return LAB_IN_FOLDER(path, mkdirat(folder, name, mode | 0700));
}

static int lab_mknod(const char* path, unsigned int mode, dev_t device) {
  return LAB_IN_FOLDER(path, mknodat(folder, name, mode | 0600, device));
}

static int lab_link(const char* from, const char* path) {
  char old_name[NAME_MAX + 1];
  const int old = lab_folder_of(from, old_name);

  return lab_close(old, old < 0 ? -1 : LAB_IN_FOLDER(path, linkat(old, old_name, folder, name, 0)));
}

static int lab_rename(const char* from, const char* path, unsigned int flags) {
  char old_name[NAME_MAX + 1];
  const int old = lab_folder_of(from, old_name);

  return lab_close(old, old < 0 ? -1
                                : LAB_IN_FOLDER(path, syscall(SYS_renameat2, old, old_name, folder,
                                                              name, flags)));
}

static int lab_readlink(const char* path, char* to, size_t size) {
  const int at = lab_open(path, O_PATH, 0);

  return lab_close(at, at < 0 ? -1 : readlinkat(at, "", to, size));
}

static int lab_statfs(const char* path, struct statfs64* to) {
  const int at = lab_open(path, O_PATH, 0);

  return lab_close(at, at < 0 ? -1 : fstatfs64(at, to));
}

#endif
