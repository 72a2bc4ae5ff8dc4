// SPDX-License-Identifier: Apache-2.0
//
// What reaches an antenna: all signals that are on the air there now, and the one frame, if any,
// that the receiver has locked on. Interference is not constant during a frame: others begin and
// end. So the time of the frame is cut at each such moment, and each piece is judged by its own
// ratio of signal to interference and noise (SINR), the way of looking at it that ns-3's
// documentation calls chunks. Everything is local to one receiver; there is no channel object.
//
// A receiver locks on the first signal that is strong enough while it is free and not transmitting,
// and stays with it to its end. Powers are summed afresh over the list for each piece, in the order
// in which signals began, so that a sum never depends on what has been added and taken away before.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "orrery/math.h"
#include "orrery/random.h"
#include "phy.h"

namespace wireless {

/// What decides whether a frame gets through.
enum class Judgement : std::uint8_t {
  collision,   ///< any overlap with another signal destroys it (no capture), noise never does
  threshold,   ///< lost if the SINR of any piece is below what its rate requires
  error_rate,  ///< lost with the probability that at least one of its bits is wrong
};

/// What a rate asks of a receiver, computed once.
struct Demand {
  double bits_per_tick = 0.0;
  double required = 0.0;  ///< SINR, a ratio

  static Demand of(const Rate& rate) {
    return {static_cast<double>(rate.megabits_per_second) / 1000.0, required_ratio(rate)};
  }
};

/// What is the same for all receivers of a model.
struct ReceiverSettings {
  Judgement judgement = Judgement::error_rate;
  double noise_w = 0.0;
  double sensitivity_w = 0.0;   ///< weakest signal that can be locked on
  double preamble_ratio = 0.0;  ///< SINR at its beginning that locking takes
  Demand preamble;              ///< of the basic rate

  static ReceiverSettings of(Judgement judgement) {
    return {.judgement = judgement,
            .noise_w = watts_of_dbm(kNoiseDbm),
            .sensitivity_w = watts_of_dbm(kBasicRate.sensitivity_dbm),
            .preamble_ratio = ratio_of_db(kPreambleDetectionDb),
            .preamble = Demand::of(kBasicRate)};
  }
};

struct Signal {
  double power_w;
  std::int64_t end_ticks;
  std::uint32_t link;  ///< names the sender: its link to this receiver
};

/// How a frame that the receiver was locked on has come through.
struct Verdict {
  bool received;
  bool overlapped;  ///< another signal was there during a part of it
};

class Receiver {
 public:
  bool locked() const { return locked_; }
  std::uint32_t locked_link() const { return link_; }
  const std::vector<Signal>& signals() const { return signals_; }

  /// Power of all signals now.
  double total_w() const { return sum_without(kNoLink); }

  /// A signal begins. `now`: ticks.
  void begin(const Signal& signal, std::int64_t now, const ReceiverSettings& settings) {
    close_piece(now, settings);
    signals_.push_back(signal);
    if (locked_) overlapped_ = true;
  }

  /// Locks on the signal that has just begun, if it is strong enough and the receiver is free.
  bool try_lock(std::int64_t now, const Demand& body, const ReceiverSettings& settings) {
    const Signal& signal = signals_.back();
    if (locked_ || signal.power_w < settings.sensitivity_w) return false;
    if (settings.judgement != Judgement::collision &&
        signal.power_w < settings.preamble_ratio * (settings.noise_w + sum_without(signal.link)))
      return false;
    locked_ = true;
    link_ = signal.link;
    power_w_ = signal.power_w;
    body_ = body;
    start_ticks_ = piece_ticks_ = now;
    log_success_ = 0.0;
    worst_ratio_ = std::numeric_limits<double>::infinity();
    overlapped_ = signals_.size() > 1;
    return true;
  }

  /// Gives up the frame it is locked on: the station transmits.
  void abandon() { locked_ = false; }

  /// The signal of `link` that ends now, ends. False if there is none.
  bool end(std::uint32_t link, std::int64_t now, const ReceiverSettings& settings) {
    close_piece(now, settings);
    for (std::size_t i = 0; i < signals_.size(); ++i) {
      if (signals_[i].link != link || signals_[i].end_ticks != now) continue;
      signals_.erase(signals_.begin() + static_cast<std::ptrdiff_t>(i));
      return true;
    }
    return false;
  }

  /// Judges the frame that has just ended and frees the receiver. Draws from `random` only where
  /// chance decides.
  Verdict judge(const ReceiverSettings& settings, orrery::Random& random) {
    locked_ = false;
    switch (settings.judgement) {
      case Judgement::collision:
        return {!overlapped_, overlapped_};
      case Judgement::threshold:
        return {worst_ratio_ >= 1.0, overlapped_};
      case Judgement::error_rate:
        break;
    }
    return {random.uniform() < success_probability(), overlapped_};
  }

  /// Of the pieces so far: probability that no bit is wrong, and the worst SINR as a multiple of
  /// what the rate requires.
  double success_probability() const { return orrery::math::exp(log_success_); }
  double worst_ratio() const { return worst_ratio_; }

 private:
  static constexpr std::uint32_t kNoLink = ~std::uint32_t{0};

  double sum_without(std::uint32_t link) const {
    double sum = 0.0;
    for (const Signal& signal : signals_)
      if (signal.link != link) sum += signal.power_w;
    return sum;
  }

  /// Counts the piece from the last change to now: what overlaps its preamble at the basic rate,
  /// the rest at the frame's own.
  void close_piece(std::int64_t now, const ReceiverSettings& settings) {
    if (!locked_ || now == piece_ticks_) return;
    if (settings.judgement != Judgement::collision) {
      const double sinr = power_w_ / (settings.noise_w + sum_without(link_));
      const std::int64_t body = start_ticks_ + kPreamble.ticks();
      if (piece_ticks_ < body)
        count(std::min(now, body) - piece_ticks_, settings.preamble, sinr, settings);
      if (now > body) count(now - std::max(piece_ticks_, body), body_, sinr, settings);
    }
    piece_ticks_ = now;
  }

  void count(std::int64_t ticks, const Demand& demand, double sinr,
             const ReceiverSettings& settings) {
    worst_ratio_ = std::min(worst_ratio_, sinr / demand.required);
    if (settings.judgement != Judgement::error_rate) return;
    const double bits = static_cast<double>(ticks) * demand.bits_per_tick;
    const double right = orrery::math::log(1.0 - bit_error(sinr, demand.required));
    log_success_ += orrery::math::product(bits, right);
  }

  std::vector<Signal> signals_;

  // The frame that the receiver is locked on; meaningless without locked_.
  bool locked_ = false;
  bool overlapped_ = false;
  std::uint32_t link_ = 0;
  double power_w_ = 0.0;
  Demand body_;  // after the preamble
  std::int64_t start_ticks_ = 0;
  std::int64_t piece_ticks_ = 0;  // start of the piece that is not closed yet
  double log_success_ = 0.0;
  double worst_ratio_ = 0.0;
};

}  // namespace wireless
