// SPDX-License-Identifier: Apache-2.0
//
// What --checkpoint asks for. LPs with little memory and no wish of their own are served on the
// engine's shortest path, with one interval for all LPs of a worker; all others have a record of
// their own (keeper.h) with kind and interval.
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
  /// What it reads, for a sentence.
  static std::string names();

  Name name = Name::automatic;
  std::uint32_t events = 0;  ///< of periodic

  bool automatic() const { return name == Name::automatic; }
  /// For an LP that starts or changes; kinds are chosen among by measurement if automatic().
  Interval interval() const;
  Kind kind() const;
  /// Whether every LP needs a record of its own, however small it is.
  bool every_lp() const;
  /// Whether LPs with much memory get a record of their own: it lets them keep their last
  /// checkpoint beyond its commitment.
  bool large_lps() const { return name != Name::copy; }
};

}  // namespace orrery::checkpoint
