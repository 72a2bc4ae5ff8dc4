// SPDX-License-Identifier: Apache-2.0
//
// Where the thread-local variables of a module lie on the calling thread, by the x86-64 ABI for
// them (Drepper, ELF Handling for Thread-Local Storage, 2013, section 3.4.2).
#pragma once

#include <cstddef>

namespace orrery::memory {

/// Of the module with that number (dl_phdr_info::dlpi_tls_modid). If the thread has not used them
/// yet, the dynamic linker allocates them with malloc. Also from within dl_iterate_phdr.
void* thread_storage_of(std::size_t module);

}  // namespace orrery::memory
