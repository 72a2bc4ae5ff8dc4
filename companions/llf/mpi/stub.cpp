// SPDX-License-Identifier: Apache-2.0
//
// The library that is preloaded into all processes that `orrery llf run` starts, directly or not.
// It defines MPI's functions. At the first call of one of them it finds out which MPI the program
// uses, loads the shim that was built for that MPI, and jumps there. In a process that never calls
// MPI (mpirun itself, shells, compilers) it only takes a few kilobytes.
//
// A stub and two shims, not one preloaded shim, because handles differ: a communicator is a pointer
// in Open MPI and an integer in MPICH, so code that uses handles is compiled for one of them. And
// only the process itself shows which MPI it uses: mpirun may start a shell that starts Python that
// loads MPI. The stub passes handles on without reading them, so arguments are as in the calling
// conventions of x86-64 and AArch64: integers and pointers, in registers or in words on the stack,
// all as wide as `long`.
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <initializer_list>

#include "llf/mpi/functions.h"

namespace {

using orrery::llf::mpi::GetTable;
using orrery::llf::mpi::kFunctions;
using orrery::llf::mpi::kTableSymbol;
using orrery::llf::mpi::Table;

static_assert(sizeof(long) == sizeof(void*));

const Table* table;

/// Only one rank prints the sentence.
[[noreturn]] void refuse(const char* sentence) {
  const char* rank = nullptr;
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"})
    if (rank == nullptr) rank = getenv(name);
  if (rank == nullptr || strcmp(rank, "0") == 0) fprintf(stderr, "orrery: %s\n", sentence);
  exit(2);
}

/// The loaded object that contains the caller. A search from it finds the caller's MPI even if the
/// library is local to that object (Python's modules).
void* object_at(void* address) {
  Dl_info info;
  link_map* map = nullptr;
  if (dladdr1(address, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0) return nullptr;
  const bool is_program = map == nullptr || map->l_name == nullptr || map->l_name[0] == '\0';
  return dlopen(is_program ? nullptr : map->l_name, RTLD_LAZY | RTLD_NOLOAD);
}

/// "openmpi", "mpich", or null. `version`: the library's own version text.
const char* kind_of(void* object, char* version, size_t room) {
  using GetVersion = int (*)(char*, int*);
  const auto get = reinterpret_cast<GetVersion>(dlsym(object, "PMPI_Get_library_version"));
  char text[16384] = "";  // MPI_MAX_LIBRARY_VERSION_STRING is 8192 at most
  int length = 0;
  if (get != nullptr) get(text, &length);
  text[strcspn(text, "\n")] = '\0';
  snprintf(version, room, "%.80s", text);
  if (strncmp(text, "Open MPI", 8) == 0) return "openmpi";
  if (strncmp(text, "MPICH", 5) == 0) return "mpich";
  return nullptr;
}

/// The path of a shim, in the folder of this library.
void path_of_shim(const char* kind, char* path, size_t room) {
  Dl_info info;
  dladdr(&table, &info);
  const char* slash = strrchr(info.dli_fname, '/');
  const int folder = slash == nullptr ? 0 : static_cast<int>(slash - info.dli_fname + 1);
  snprintf(path, room, "%.*sorrery-llf-%s.so", folder, info.dli_fname, kind);
}

const Table* load(void* caller) {
  char version[128], path[4096], sentence[5120];
  void* object = object_at(caller);
  void* init = object == nullptr ? nullptr : dlsym(object, "PMPI_Init");
  if (init == nullptr) init = dlsym(object = RTLD_NEXT, "PMPI_Init");
  if (init == nullptr)
    refuse(
        "a program calls MPI, and no MPI library is loaded that it could mean; run it without "
        "'orrery llf run'");
  const char* kind = kind_of(object, version, sizeof version);
  if (kind == nullptr) {
    snprintf(
        sentence, sizeof sentence,
        "the program uses the MPI '%s'; there are shims for Open MPI and MPICH only, so run it "
        "without 'orrery llf run'",
        version);
    refuse(sentence);
  }
  path_of_shim(kind, path, sizeof path);
  if (access(path, R_OK) != 0) {
    snprintf(
        sentence, sizeof sentence,
        "the program uses %s, and there is no %.4000s: install the package lib%s-dev and build "
        "orrery again, or run it without 'orrery llf run'",
        version, path, kind);
    refuse(sentence);
  }
  void* shim = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  const auto get =
      shim == nullptr ? nullptr : reinterpret_cast<GetTable>(dlsym(shim, kTableSymbol));
  if (get == nullptr || get()->functions != kFunctions) {
    snprintf(sentence, sizeof sentence, "the shim for %s cannot be used: %.1000s", version,
             get == nullptr ? dlerror() : "it belongs to another version of orrery");
    refuse(sentence);
  }
  // If the shim has loaded another copy of the library than the program's, their handles would not
  // match.
  if (dlsym(shim, "PMPI_Init") != init) {
    snprintf(
        sentence, sizeof sentence,
        "the program uses another build of %s than %.4000s was made for; build orrery with that "
        "one, or run it without 'orrery llf run'",
        version, path);
    refuse(sentence);
  }
  return get();
}

const Table& table_for(void* caller) {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  const Table* found = __atomic_load_n(&table, __ATOMIC_ACQUIRE);
  if (found != nullptr) [[likely]]
    return *found;
  pthread_mutex_lock(&mutex);
  if (table == nullptr) __atomic_store_n(&table, load(caller), __ATOMIC_RELEASE);
  pthread_mutex_unlock(&mutex);
  return *table;
}

}  // namespace

#define P0
#define P1 long a
#define P2 P1, long b
#define P3 P2, long c
#define P4 P3, long d
#define P5 P4, long e
#define P6 P5, long f
#define P7 P6, long g
#define P8 P7, long h
#define P9 P8, long i
#define P10 P9, long j
#define P12 P10, long k, long l
#define A0
#define A1 a
#define A2 A1, b
#define A3 A2, c
#define A4 A3, d
#define A5 A4, e
#define A6 A5, f
#define A7 A6, g
#define A8 A7, h
#define A9 A8, i
#define A10 A9, j
#define A12 A10, k, l
#define JUMP(name, count)                                                                          \
  extern "C" __attribute__((visibility("default"))) int name(P##count) {                           \
    const Table& mpi = table_for(__builtin_return_address(0));                                     \
    return reinterpret_cast<int (*)(P##count)>(mpi.function[orrery::llf::mpi::k##name])(A##count); \
  }
ORRERY_LLF_MPI_FUNCTIONS(JUMP)
