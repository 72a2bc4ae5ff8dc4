// SPDX-License-Identifier: Apache-2.0
//
// A kind of machine that hosts can be: what the laboratory asks of all hosts of that kind in a run.
// To add a kind: a folder with a Machine and the keys of its hosts (uml/ is an example), an
// enumerator and the settings in topology.h, a line in the table of topology.cpp, and a line in
// machine.cpp.
//
// A host has a folder of its own (Lab::folder_of). After the run it holds the host's console in the
// file `console`, and what the host left in its /out in the folder `out`, whatever its kind.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "executed.h"
#include "guest.h"
#include "topology.h"

namespace orrery::lab {

class Lab;

class Machine {
 public:
  virtual ~Machine() = default;

  /// Throws UsageError, with what to do, if a file is missing that hosts of this kind need.
  virtual void check() const = 0;
  /// Makes the folders of all hosts of this kind anew. Throws UsageError and
  /// std::filesystem::filesystem_error.
  virtual void prepare() const = 0;
  /// Starts a host and does not wait, so hosts start side by side. All that is random in the host
  /// comes from `seed`. Throws std::system_error, and std::length_error if the path of the host's
  /// folder is too long.
  virtual std::unique_ptr<Guest> start(NodeId host, std::uint64_t seed, Network& network) const = 0;
  /// What the hosts of this kind see of this machine, with a digest of each. Over ranks, and in a run
  /// that repeats another, they must be equal.
  virtual std::vector<std::pair<std::string, std::string>> digests() const { return {}; }
  /// Files below a host's folder that add_executed() reads and the host writes.
  virtual std::vector<std::filesystem::path> leaves(NodeId) const { return {}; }
  /// Adds the files that a host has executed. The host has ended.
  virtual void add_executed(NodeId host, ExecutedFiles& to) const = 0;
};

/// The machines of this kind in the run of `lab`, which must live as long.
std::unique_ptr<Machine> make_machine(MachineKind kind, const Lab& lab);

}  // namespace orrery::lab
