// SPDX-License-Identifier: Apache-2.0
#include "core/topology.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace orrery {
namespace {

/// A run whose thread added a variable while another thread read the environment has crashed.
TEST(Topology, IsLoadedWithoutAChangeOfTheEnvironment) {
  char** const before = environ;  // adding the first variable moves the array
  EXPECT_NE(machine_topology(), nullptr);
  EXPECT_EQ(environ, before);
}

}  // namespace
}  // namespace orrery
