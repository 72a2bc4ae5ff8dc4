// SPDX-License-Identifier: Apache-2.0
//
// The program and the shared objects of this process: their addresses and build ids. Addresses into
// a module at its link address are valid in every process with the same build of it; the command
// and models made by orrery_add_model have fixed link addresses. The system places all other
// modules, usually differently in each process.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace orrery {

struct Module {
  std::string path;      ///< of the program: its own path
  std::string build_id;  ///< in hexadecimal digits; empty if the linker has set none
  std::uintptr_t base = 0, begin = 0, end = 0;
  bool is_fixed = false;  ///< it lies at its link address

  bool covers(std::uintptr_t address) const { return address - begin < end - begin; }
};

/// All loaded modules, the program first.
std::vector<Module> loaded_modules();

/// Build ids of a run, since results of different builds are not mixed. Hexadecimal digits, empty
/// if the linker has set none; of a model, by the path of its loaded shared object.
std::string build_of_program();
std::string build_of_model(const std::string& path);

/// Executes the program again, with its arguments, without address space randomisation. Returns if
/// that is impossible or unnecessary.
void execute_without_random_addresses();

}  // namespace orrery
