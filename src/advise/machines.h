// SPDX-License-Identifier: Apache-2.0
//
// The table of machines for rent: a TOML file with a table [[machine]] for each. Users know their
// prices; Orrery has only an example with fictitious prices (docs/machines.toml).
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace orrery::advise {

struct Machine {
  std::string name;
  unsigned cores = 1;            ///< processors that its system shows
  double speed = 1;              ///< factor from `orrery advise --calibrate` on it
  double price_per_hour = 0;     ///< in the table's currency
  std::optional<double> memory;  ///< bytes; nothing: enough for any run
};

struct MachineTable {
  std::string currency;  ///< empty: not named
  std::vector<Machine> machines;
};

/// Throws UsageError with file, line and error.
MachineTable read_machines(const std::string& path);

/// The price of a machine for `seconds`, billed by the second, rounded up to full seconds.
double price_of(const Machine& machine, double seconds);

}  // namespace orrery::advise
