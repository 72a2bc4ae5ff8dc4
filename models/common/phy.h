// SPDX-License-Identifier: Apache-2.0
//
// The physical layer as constants and small functions: durations, powers, and the bit error
// probability at a ratio of signal to noise and interference. All times and thresholds are those of
// the OFDM PHY with 20 MHz channel spacing (IEEE Std 802.11-2012, clause 18; formerly 802.11a). The
// durations of all events come from this file.
//
// Where the standard gives an upper bound ("< 4 us"), the constant is that bound.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "orrery/math.h"
#include "orrery/time.h"

namespace wireless {

using orrery::Duration;

// ---- times (IEEE 802.11-2012, table 18-17, "OFDM PHY characteristics") --------------------------

/// aCCATime: from the first energy of a signal to its detection by the receiver.
inline constexpr Duration kCcaTime = Duration::microseconds(4);
/// aRxTxTurnaroundTime: from the decision to transmit to energy on the air.
inline constexpr Duration kTurnaround = Duration::microseconds(2);
/// aMACProcessingDelay: from a request of the layer above or a timer to the MAC's reaction.
inline constexpr Duration kMacProcessing = Duration::microseconds(2);
/// aSlotTime = CCA 4 + turnaround 2 + air propagation 1 + MAC processing 2.
inline constexpr Duration kSlot = Duration::microseconds(9);
/// aSIFSTime: from the end of a frame to its acknowledgement. The standard gives a receiver this
/// time for decoding, checking and turning round.
inline constexpr Duration kSifs = Duration::microseconds(16);
/// DIFS = SIFS + 2 slots (9.3.7).
inline constexpr Duration kDifs = kSifs + 2 * kSlot;
/// aPreambleLength + aPLCPHeaderLength: the start of every frame, sent at 6 Mb/s.
inline constexpr Duration kPreamble = Duration::microseconds(20);
inline constexpr Duration kSymbol = Duration::microseconds(4);

inline constexpr std::uint32_t kContentionMinimum = 15;    ///< aCWmin
inline constexpr std::uint32_t kContentionMaximum = 1023;  ///< aCWmax

// ---- frames (clause 8) --------------------------------------------------------------------------

inline constexpr std::uint32_t kHeaderBytes = 24 + 8 + 4;  ///< MAC header, LLC/SNAP, check sequence
inline constexpr std::uint32_t kAckBytes = 14;
inline constexpr std::uint32_t kMaximumPayload = 2304;  ///< largest MSDU

// ---- rates --------------------------------------------------------------------------------------

/// A modulation and coding scheme. The sensitivity is the received power at which no more than a
/// tenth of frames of 1000 bytes may get lost without interference (table 18-14).
struct Rate {
  std::int64_t megabits_per_second;
  std::uint32_t bits_per_symbol;
  double sensitivity_dbm;
};
inline constexpr std::array<Rate, 8> kRates = {{{6, 24, -82.0},
                                                {9, 36, -81.0},
                                                {12, 48, -79.0},
                                                {18, 72, -77.0},
                                                {24, 96, -74.0},
                                                {36, 144, -70.0},
                                                {48, 192, -66.0},
                                                {54, 216, -65.0}}};
/// The rate of preambles; the slowest rate.
inline constexpr const Rate& kBasicRate = kRates[0];

inline constexpr const Rate& rate_of(std::int64_t megabits_per_second) {
  for (const Rate& rate : kRates)
    if (rate.megabits_per_second == megabits_per_second) return rate;
  return kBasicRate;
}

/// Acknowledgements use the fastest mandatory rate (6, 12, 24 Mb/s) that is not above the rate of
/// the frame that they acknowledge.
inline constexpr const Rate& acknowledgement_rate(const Rate& data) {
  return rate_of(data.megabits_per_second >= 24 ? 24 : data.megabits_per_second >= 12 ? 12 : 6);
}

/// Duration of a frame with `bytes` after the preamble: 16 bits of SERVICE, the bytes, 6 tail bits,
/// padded to whole symbols (18.4.3, TXTIME).
inline constexpr Duration airtime(const Rate& rate, std::uint32_t bytes) {
  const std::int64_t bits = 16 + 8 * std::int64_t{bytes} + 6;
  const std::int64_t per_symbol = rate.bits_per_symbol;
  return kPreamble + kSymbol * ((bits + per_symbol - 1) / per_symbol);
}

// ---- power --------------------------------------------------------------------------------------

inline constexpr double kLightMetresPerSecond = 299'792'458.0;

inline double watts_of_dbm(double dbm) {
  return orrery::math::pow(10.0, (dbm - 30.0) / 10.0);
}
inline double ratio_of_db(double db) {
  return orrery::math::pow(10.0, db / 10.0);
}

/// Thermal noise of 20 MHz at 290 K (k T B = -174 dBm/Hz + 73 dB) and the noise figure of 10 dB
/// that table 18-14 assumes.
inline constexpr double kNoiseDbm = -91.0;
/// A receiver detects a preamble that is this much above noise and interference.
inline constexpr double kPreambleDetectionDb = 4.0;

/// Log-distance path loss (Rappaport, Wireless Communications, 4.9): free space (Friis) up to 1 m,
/// beyond that plus 10 n log10(d). n = 2 is free space at every distance.
struct PathLoss {
  double exponent = 3.0;
  double at_one_metre_db = 46.7;

  static PathLoss at(double frequency_hz, double exponent) {
    constexpr double kFourPi = 12.566370614359172;
    return {exponent, 20.0 * orrery::math::log10(kFourPi * frequency_hz / kLightMetresPerSecond)};
  }
  double db(double metres) const {
    return at_one_metre_db + 10.0 * exponent * orrery::math::log10(std::max(metres, 1.0));
  }
  /// Distance at which the loss is `db`; the inverse of db().
  double metres(double db) const {
    return std::max(1.0, orrery::math::pow(10.0, (db - at_one_metre_db) / (10.0 * exponent)));
  }
};

/// Rounded to the nanosecond, at least 1 ns.
inline Duration propagation(double metres) {
  return std::max(Duration::nanoseconds(1), Duration::from_seconds(metres / kLightMetresPerSecond));
}

// ---- errors -------------------------------------------------------------------------------------

/// The ratio of signal to noise at the sensitivity of a rate. It contains the implementation margin
/// of 5 dB that table 18-14 assumes.
inline double required_ratio(const Rate& rate) {
  return ratio_of_db(rate.sensitivity_dbm - kNoiseDbm);
}

/// Probability that a bit is wrong: 0.5 exp(-a sinr / required). This is the form of non-coherent
/// detection (Proakis, Digital Communications); `a` is chosen so that a frame of 1000 bytes at the
/// required ratio gets lost with probability 0.1, which is how the standard defines sensitivity:
///   (1 - p)^8000 = 0.9  gives  p = 1.31700e-5  and  a = ln(0.5 / p) = 10.54442.
inline constexpr double kErrorSlope = 10.54442;

inline double bit_error(double sinr, double required) {
  return 0.5 * orrery::math::exp(-kErrorSlope * sinr / required);
}

}  // namespace wireless
