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

/// Returns the dynamic linker's own function. The function that sanitizers put in its place reads
/// the words in front of a block that it has not seen yet as the block's address and size. glibc
/// has not written these words since 2.25. Where they belong to other memory, the sanitizer counts
/// terabytes as a thread's storage and ends the process.
GetTls find_get_tls() {
  void* const library = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
  void* const found = library == nullptr ? nullptr : dlsym(library, "__tls_get_addr");
  return found == nullptr ? &__tls_get_addr : reinterpret_cast<GetTls>(found);
}

/// Initialised at start, since dlopen must not be called while the list of libraries is locked.
const GetTls get_tls = find_get_tls();

}  // namespace

void* thread_storage_of(std::size_t module) {
  TlsIndex index{module, 0};
  return get_tls(&index);
}

}  // namespace orrery::memory
