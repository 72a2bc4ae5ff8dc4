// SPDX-License-Identifier: Apache-2.0
//
// State that libraries create at first use and then keep for the process or the thread. If the
// first use were in a handler, that state would lie in an LP's heap, and a rollback would change it
// behind the library's back. The two functions below, called in platform mode, make these first
// uses.
//
// Covered (with glibc 2.36 and libstdc++ 12):
//   prepare_library_state   buffers of stdin, stdout and stderr; the time zone; the tables of the
//                           multibyte conversions and of iconv; the unwinder that backtrace loads;
//                           the standard facets of the C++ locales in use, and the counts of
//                           references to them.
//   prepare_worker_thread   thread-local storage of all libraries that dlopen loaded, which the
//                           dynamic linker allocates with malloc at the thread's first access.
//   interpose_locale.cpp    locales by name.
//   interpose_specific.cpp  thread-specific data.
//   interpose_stateful.cpp  allocations of functions with state in the C library, and of the
//                           dynamic linker for objects that dlopen loads.
//   interpose_runtime.cpp   function-local statics, and the lists of destructors at exit.
//
// Not covered; a model that does this in a handler breaks rule 3 of the design anyway or leaks:
//   opening files and streams (the C library links them into a list of the process),
//   std::locale::global, uselocale, getaddrinfo, syslog, starting threads.
// Models must be loaded with RTLD_NOW: lazy binding may extend lists of the dynamic linker.
#ifndef ORRERY_MEMORY_LIBRARY_STATE_H
#define ORRERY_MEMORY_LIBRARY_STATE_H

namespace orrery::memory {

// Sets TZ if it is not set. For main(), before there are threads: others may read the environment.
void name_time_zone();

// Call once a process before any model code runs, and again after the program changed its locale.
void prepare_library_state();

// Call on each thread that will run model code, after the last model was loaded.
void prepare_worker_thread();

}  // namespace orrery::memory

#endif  // ORRERY_MEMORY_LIBRARY_STATE_H
