// SPDX-License-Identifier: Apache-2.0
//
// The settings of a radio channel: its stations, their positions, powers and rates. Times, rates,
// path loss and errors are those of the model `wireless` (IEEE 802.11, OFDM, 20 MHz;
// models/common/phy.h). Which stations receive each other follows from positions, or from a table.
// models/lab/README.md describes the keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "../common/phy.h"
#include "../common/reception.h"
#include "movement.h"

namespace orrery::lab {

class TomlTable;

/// Settings that may change during the run, from a time on.
struct RadioState {
  std::int64_t from_ns = 0;
  const wireless::Rate* rate = &wireless::rate_of(12);           ///< of frames for one station
  const wireless::Rate* broadcast_rate = &wireless::kBasicRate;  ///< of frames for all
  double power_dbm = 20, path_loss = 3;
  double carrier_sense_dbm = -82;
};

/// Which stations receive each other from a time on, instead of by positions.
struct Connectivity {
  std::int64_t from_ns = 0;
  /// Share of the frames of station i that station j gets, at i * stations + j: 0 none (and no
  /// signal either), 1 all.
  std::vector<double> shares;
};

struct Radio {
  static constexpr double kConnectedDbm = -50;  ///< received power with a table

  std::vector<RadioState> states{{}};  ///< by time; the first from 0
  double frequency_hz = 5.18e9;
  double floor_dbm = -95;  ///< weaker signals are ignored
  bool fading = false;
  wireless::Judgement reception = wireless::Judgement::error_rate;
  unsigned retries = 7;                    ///< transmissions of a frame before it is given up
  unsigned queue = 100;                    ///< frames that a station holds
  std::vector<Track> tracks;               ///< by station
  std::vector<Connectivity> connectivity;  ///< by time; empty: by positions

  std::size_t stations() const { return tracks.size(); }
  const RadioState& at(std::int64_t time) const;
  /// Time at which the next state or connectivity begins.
  std::int64_t changes_after(std::int64_t time) const;
  const Connectivity& connectivity_at(std::int64_t time) const;
};

/// Reads the keys of `[[radio]]` for sending; and those of an event that changes them.
void read_radio(const TomlTable& table, Radio& radio);
void read_radio_state(const TomlTable& table, RadioState& state);

/// Reads a table of shares from a file. Throws UsageError with file and line.
std::vector<Connectivity> read_connectivity(const std::string& path, std::size_t stations);

}  // namespace orrery::lab
