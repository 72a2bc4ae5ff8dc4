// SPDX-License-Identifier: Apache-2.0
//
// The only exported function of a shim, which returns its functions. The functions' names are not
// exported, and its calls of PMPI_ go to the MPI that it was built for.
#include <mpi.h>

#include "llf/mpi/functions.h"

extern "C" __attribute__((visibility("default"))) const orrery::llf::mpi::Table* orrery_llf_mpi() {
#define ORRERY_LLF_FUNCTION(name, arguments) reinterpret_cast<void (*)()>(&name),
  static const orrery::llf::mpi::Table table = {orrery::llf::mpi::kFunctions,
                                                {ORRERY_LLF_MPI_FUNCTIONS(ORRERY_LLF_FUNCTION)}};
#undef ORRERY_LLF_FUNCTION
  return &table;
}
