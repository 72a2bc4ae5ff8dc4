// SPDX-License-Identifier: Apache-2.0
//
// Finds a module's thread-local variables on the calling thread, by the x86-64 ABI for thread-local
// storage (Drepper, ELF Handling for Thread-Local Storage, 2013, section 3.4.2).
#pragma once

#include <cstddef>

namespace orrery::memory {

/// `module`: its dl_phdr_info::dlpi_tls_modid. If the thread has not used the variables yet, the
/// dynamic linker allocates them with malloc. May be called from within dl_iterate_phdr.
void* thread_storage_of(std::size_t module);

}  // namespace orrery::memory
