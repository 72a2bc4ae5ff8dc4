// SPDX-License-Identifier: Apache-2.0
//
// The program and the shared objects of this process: where they lie, and which build they are.
// Addresses into one that lies where it was linked to mean the same in every process that has the
// same build of it; the command and models made by orrery_add_model are linked to such places. All
// others go where the system puts them, as a rule elsewhere in each process.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace orrery {

struct Module {
  std::string path;      ///< of the program: its own
  std::string build_id;  ///< in hexadecimal digits; empty if the linker gave it none
  std::uintptr_t base = 0, begin = 0, end = 0;
  bool is_fixed = false;  ///< it lies where it was linked to

  bool covers(std::uintptr_t address) const { return address - begin < end - begin; }
};

/// All that are loaded, the program first.
std::vector<Module> loaded_modules();

/// Which build a run is of: results of one are not mixed with another's. Hexadecimal digits, empty
/// if the linker gave none; of a model in a shared object that is loaded, by its path.
std::string build_of_program();
std::string build_of_model(const std::string& path);

/// Executes the program again, with its arguments, without chance in its addresses. Returns where
/// that is not possible, or not needed.
void execute_without_random_addresses();

}  // namespace orrery
