// SPDX-License-Identifier: Apache-2.0
//
// The few calls of MPI that ranks need, as a table of C functions in a shared object that is loaded
// when it is wanted: the command links no MPI, so it starts where there is none, and one command
// serves both Open MPI and MPICH, whose libraries have the same names and other binary interfaces.
// mpi/plugin.cpp is compiled once against each.
#pragma once

#include <cstddef>

extern "C" {

struct OrreryMpi {
  int version;  ///< kOrreryMpiVersion of those who compiled it
  /// MPI_Init_thread, with calls by one thread at a time. 0, or writes what is wrong.
  int (*begin)(char* error, std::size_t error_bytes);
  int (*rank)();
  int (*ranks)();
  /// Begins to send; the bytes stay where they are until `is_done`. nullptr if it is refused.
  void* (*send)(int to, const void* bytes, std::size_t count);
  /// The oldest message that has come and was not taken yet, of any rank: 1, with what must be
  /// given to `receive`; 0 if there is none.
  int (*probe)(int* from, std::size_t* count, void** message);
  /// Begins to receive that message.
  void* (*receive)(void* message, void* bytes, std::size_t count);
  /// Whether what was begun is done; then it is forgotten.
  int (*is_done)(void* request);
  /// All ranks come here in the end.
  void (*end)();
  void (*abandon)(int code);
  const char* (*library)();
};

/// What the shared object exports as "orrery_mpi".
using OrreryMpiTable = const OrreryMpi* (*)();
}

namespace orrery::transport {
inline constexpr int kOrreryMpiVersion = 1;
}
