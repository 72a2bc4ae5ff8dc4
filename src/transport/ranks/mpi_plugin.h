// SPDX-License-Identifier: Apache-2.0
//
// The few calls of MPI that ranks need, as a table of C functions in a shared object that is loaded
// on demand. The command links no MPI, so it starts on machines without MPI, and one command serves
// both Open MPI and MPICH, whose libraries have the same names and different binary interfaces.
// mpi/plugin.cpp is compiled once against each.
#pragma once

#include <cstddef>

extern "C" {

struct OrreryMpi {
  int version;  ///< kOrreryMpiVersion at the plugin's compilation
  /// MPI_Init_thread, with calls by one thread at a time. Returns 0, or else writes the error.
  int (*begin)(char* error, std::size_t error_bytes);
  int (*rank)();
  int (*ranks)();
  /// Begins to send; the bytes must stay in place until `is_done`. nullptr if MPI refuses.
  void* (*send)(int to, const void* bytes, std::size_t count);
  /// Finds the oldest message of any rank that has come and was not taken yet: 1, with the argument
  /// for `receive`; 0 if there is none.
  int (*probe)(int* from, std::size_t* count, void** message);
  /// Begins to receive that message.
  void* (*receive)(void* message, void* bytes, std::size_t count);
  /// Whether the request is complete; if so, it is released.
  int (*is_done)(void* request);
  /// MPI_Finalize; all ranks call it in the end.
  void (*end)();
  void (*abandon)(int code);
  const char* (*library)();
};

/// Type of the function that the shared object exports as "orrery_mpi".
using OrreryMpiTable = const OrreryMpi* (*)();
}

namespace orrery::transport {
inline constexpr int kOrreryMpiVersion = 1;
}
