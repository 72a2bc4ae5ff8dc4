// SPDX-License-Identifier: Apache-2.0
//
// Names of folders in the root of a guest, for root.c and for uml/uml_executed.cpp.
#pragma once

/* Folders with programs and libraries. A guest without a root of its own sees the machine's. */
static const char* const kProgramFolders[] = {"usr",   "bin",   "sbin",  "lib",
                                              "lib32", "lib64", "libx32"};

/* Folders that the guest makes itself. It does not see those of a root of its own. */
static const char* const kHiddenFolders[] = {"dev", "proc", "sys", "tmp",
                                             "run", "mnt",  "lab", "out"};
