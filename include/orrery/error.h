// SPDX-License-Identifier: Apache-2.0
//
// The two ways in which a run can be refused or ended by its input. Both carry a whole sentence:
// what, where, and what to do.
#pragma once

#include <stdexcept>
#include <string>

namespace orrery {

/// A wrong option, parameter or input file. Exit code 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Something a model did that it must not do (a negative delay, an unknown destination, an
/// exception that left a handler). Exit code 3; reported only if the event that did it commits.
class ModelFault : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace orrery
