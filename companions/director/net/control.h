// SPDX-License-Identifier: Apache-2.0
//
// The control of a running director: a socket in the folder of the run, on which `orrery director set`
// sends a line of words NAME=VALUE and gets an answer. Only the owner of the folder can connect.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "director/thread.h"

namespace orrery::director {

/// A setting, or a name alone.
struct ControlWord {
  std::string name, value;
};

class ControlServer {
 public:
  /// Throws UsageError if the socket cannot be made.
  explicit ControlServer(const std::string& folder);
  ~ControlServer();
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;

  /// Answers those who have connected. `answer` gets the words of a line; its UsageErrors are answers,
  /// too. A connection whose line is not there yet is looked at in the next call.
  void serve(const std::function<std::string(std::span<const ControlWord>)>& answer);

 private:
  struct Connection {
    Descriptor socket;
    std::string line;
    unsigned calls = 0;
  };
  bool serve(Connection& connection,
             const std::function<std::string(std::span<const ControlWord>)>& answer) const;
  std::string path_;
  Descriptor socket_;
  std::vector<Connection> connections_;
};

/// Sends words to the director of the run in `folder` and returns its answer. Throws UsageError with
/// the director's sentence if it refuses, or if no director runs there.
std::string ask_director(const std::string& folder, std::span<const std::string> words);

}  // namespace orrery::director
