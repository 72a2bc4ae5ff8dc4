// SPDX-License-Identifier: Apache-2.0
//
// The setting of --checkpoint. LPs that have little memory and need no record of their own are on
// the engine's shortest path, with one interval for all LPs of a worker. All others have a record
// of their own (checkpointer.h) with kind and interval.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "checkpoint/checkpoint.h"
#include "checkpoint/interval.h"

namespace orrery::checkpoint {

struct Strategy {
  enum class Name { automatic, copy, periodic, adaptive, incremental, reverse };

  /// Reads "auto", "copy", "periodic:N" (1 to 1024), "adaptive", "incremental" or "reverse".
  /// Throws UsageError.
  static Strategy parse(std::string_view text);
  /// The names that parse() accepts, for messages.
  static std::string names();

  Name name = Name::automatic;
  std::uint32_t events = 0;  ///< N of periodic:N

  bool automatic() const { return name == Name::automatic; }
  /// For an LP that starts or changes; if automatic(), measurements choose among the kinds.
  Interval interval() const;
  Kind kind() const;
  /// Whether every LP needs a record of its own, however small it is.
  bool every_lp() const;
  /// Whether LPs with much memory get a record of their own, which lets them keep their last
  /// checkpoint after the events before it are committed.
  bool large_lps() const { return name != Name::copy; }
};

}  // namespace orrery::checkpoint
