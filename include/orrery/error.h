// SPDX-License-Identifier: Apache-2.0
//
// The two errors of a run's input. Both carry a whole sentence: what is wrong, where, and what to
// do.
#pragma once

#include <stdexcept>
#include <string>

namespace orrery {

/// A wrong option, parameter or input file. Exit code 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A forbidden action of a model (a negative delay, an unknown destination, an exception that left
/// a handler). Exit code 3; reported only if the event that caused it commits.
class ModelFault : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace orrery
