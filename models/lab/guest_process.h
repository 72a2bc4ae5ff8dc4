// SPDX-License-Identifier: Apache-2.0
//
// The process of a guest, in namespaces of its own and confined (guest/enter.c). The guest ends with
// this object or with this process: its first process waits for the end of a pipe that only this
// process holds.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "control_groups.h"
#include "file.h"

namespace orrery::lab {

/// How to start a guest, and what it may take.
struct GuestCommand {
  std::filesystem::path folder;        ///< the guest's own, absolute; gets the console
  std::filesystem::path enter;         ///< the program that guest/build makes
  std::filesystem::path program;       ///< which the guest's first process executes
  std::vector<std::string> arguments;  ///< of the program; the first is its name
  std::filesystem::path root = "/";    ///< a folder that the guest sees, or a file that it mounts;
                                       ///< "/": some of the machine's files
  std::string calls = "uml";           ///< which calls of the machine it may use (guest/calls.c)
  std::uint64_t seed = 1;
  unsigned out_megabytes = 64;            ///< limit for files in /out
  unsigned file_megabytes = 256;          ///< limit for each file, the console included
  const ControlGroups* groups = nullptr;  ///< nullptr: no control groups
  ControlGroups::Limits limits{};         ///< of the groups
  File extra;                             ///< the guest's descriptor GuestProcess::kExtra
};

class GuestProcess {
 public:
  static constexpr int kExtra = 4;

  /// Starts the guest and does not wait. Throws std::system_error.
  explicit GuestProcess(GuestCommand&& command);
  /// Ends the guest unless end() has done so.
  ~GuestProcess();
  GuestProcess(const GuestProcess&) = delete;
  GuestProcess& operator=(const GuestProcess&) = delete;

  pid_t id() const { return id_; }
  /// Becomes readable when the guest has ended by itself.
  int descriptor() const { return process_.get(); }
  /// Ends the guest. True if all that it left in /out is now in the folder `out`; otherwise its
  /// console says why not. May be called only once.
  bool end();

 private:
  pid_t id_ = -1;
  File process_;
  File life_line_;  ///< closing it ends the guest
  std::vector<std::filesystem::path> groups_;
};

}  // namespace orrery::lab
