// SPDX-License-Identifier: Apache-2.0
//
// The table of machines that may be rented: a TOML file with a table [[machine]] for each. Whoever
// rents knows the prices; we ship only an example with fictitious ones (docs/machines.toml).
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace orrery::advise {

struct Machine {
  std::string name;
  unsigned cores = 1;            ///< processors that its system shows
  double speed = 1;              ///< factor that `orrery advise --calibrate` tells there
  double price_per_hour = 0;     ///< in the table's currency
  std::optional<double> memory;  ///< bytes; nothing: enough
};

struct MachineTable {
  std::string currency;  ///< empty: not named
  std::vector<Machine> machines;
};

/// Throws UsageError that names file, line, and what is wrong there.
MachineTable read_machines(const std::string& path);

/// What a machine costs for so long, billed by the second, a second that has begun in full.
double price_of(const Machine& machine, double seconds);

}  // namespace orrery::advise
