/* SPDX-License-Identifier: Apache-2.0
 *
 * Error messages and formatted texts of the programs of this folder. */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "enter.h"

void fail(const char *what, const char *which)
{
	dprintf(2, "lab: %s %s: %s\n", what, which, strerror(errno));
	exit(1);
}

void check(long result, const char *what, const char *which)
{
	if (result < 0)
		fail(what, which);
}

const char *text(const char *format, ...)
{
	static char buffers[4][PATH_MAX];
	static unsigned int next;
	char *buffer = buffers[next++ % 4];
	va_list arguments;

	va_start(arguments, format);
	if (vsnprintf(buffer, PATH_MAX, format, arguments) >= PATH_MAX) {
		errno = ENAMETOOLONG;
		fail("path", format);
	}
	va_end(arguments);
	return buffer;
}
