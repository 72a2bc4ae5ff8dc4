// SPDX-License-Identifier: Apache-2.0
//
// What a radio channel is like: the stations on it, where they are, how loud and how fast they
// send. Times, rates, path loss and errors are those of the model `wireless` (IEEE 802.11, OFDM,
// 20 MHz; models/common/phy.h). Who hears whom follows from places, or is said by a table.
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

/// What may change while hosts run: from a time on.
struct RadioState {
  std::int64_t from_ns = 0;
  const wireless::Rate* rate = &wireless::rate_of(12);           ///< of a frame for one station
  const wireless::Rate* broadcast_rate = &wireless::kBasicRate;  ///< of one for all
  double power_dbm = 20, path_loss = 3;
  double carrier_sense_dbm = -82;
};

/// Who hears whom from a time on: instead of places.
struct Connectivity {
  std::int64_t from_ns = 0;
  /// What station j gets of the frames of station i, at i * stations + j: 0 nothing (it does not
  /// hear it at all), 1 all, between a share.
  std::vector<double> shares;
};

struct Radio {
  static constexpr double kConnectedDbm = -50;  ///< power of who is heard by a table

  std::vector<RadioState> states{{}};  ///< by time; the first from 0
  double frequency_hz = 5.18e9;
  double floor_dbm = -95;  ///< weaker signals are left out
  bool fading = false;
  wireless::Judgement reception = wireless::Judgement::error_rate;
  unsigned retries = 7;                    ///< transmissions of a frame before it is given up
  unsigned queue = 100;                    ///< frames that a station holds
  std::vector<Track> tracks;               ///< by station
  std::vector<Connectivity> connectivity;  ///< by time; empty: by places

  std::size_t stations() const { return tracks.size(); }
  const RadioState& at(std::int64_t time) const;
  /// When the next state or connectivity begins.
  std::int64_t changes_after(std::int64_t time) const;
  const Connectivity& connectivity_at(std::int64_t time) const;
};

/// Keys of `[[radio]]` that say how it sends; and of an event of it.
void read_radio(const TomlTable& table, Radio& radio);
void read_radio_state(const TomlTable& table, RadioState& state);

/// Numbers of who hears whom, from a file. Throws UsageError with file and line.
std::vector<Connectivity> read_connectivity(const std::string& path, std::size_t stations);

}  // namespace orrery::lab
