// SPDX-License-Identifier: Apache-2.0
//
// What the model-like shared object of interpose_test.cpp exports.
#ifndef ORRERY_TESTS_MEMORY_INTERPOSE_PLUGIN_H
#define ORRERY_TESTS_MEMORY_INTERPOSE_PLUGIN_H

#include <cstdint>
#include <cstdio>

struct PluginState;

struct Plugin {
  PluginState* (*create)();
  void (*destroy)(PluginState*);
  // One event: changes the state by means of most of the standard library.
  void (*handle)(PluginState*, std::uint64_t seed);
  // A hash of the state's values.
  std::uint64_t (*digest)(const PluginState*);
  // Reads a line with getline, which allocates, and returns its length.
  std::uint64_t (*read_line)(std::FILE*);
  // Addresses of memory that is not the LP's: of a function-local static and of a thread_local.
  const void* (*static_memory)();
  const void* (*thread_local_memory)();
  void (*throw_and_catch)();
};

using GetPlugin = const Plugin* (*)();

#endif  // ORRERY_TESTS_MEMORY_INTERPOSE_PLUGIN_H
