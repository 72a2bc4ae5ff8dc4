// SPDX-License-Identifier: Apache-2.0
#include "memory/thread_storage.h"

#include <dlfcn.h>

namespace {

struct TlsIndex {
  unsigned long module;
  unsigned long offset;
};

}  // namespace

extern "C" void* __tls_get_addr(TlsIndex*);

namespace orrery::memory {
namespace {

using GetTls = void* (*)(TlsIndex*);

/// The dynamic linker's own. What sanitizers have in its place takes the words in front of a block
/// that it sees for the first time for its place and size; glibc writes nothing there since 2.25,
/// so where they are the rest of somebody's memory, terabytes count as a thread's storage, and the
/// process is ended for it.
GetTls find_get_tls() {
  void* const library = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
  void* const found = library == nullptr ? nullptr : dlsym(library, "__tls_get_addr");
  return found == nullptr ? &__tls_get_addr : reinterpret_cast<GetTls>(found);
}

/// Found before it is asked for: with the list of libraries locked nobody may call dlopen.
const GetTls get_tls = find_get_tls();

}  // namespace

void* thread_storage_of(std::size_t module) {
  TlsIndex index{module, 0};
  return get_tls(&index);
}

}  // namespace orrery::memory
