// SPDX-License-Identifier: Apache-2.0
//
// Reception at one antenna: all signals that are on the air there now, and the frame, if any, that
// the receiver has locked on. Interference changes during a frame as other signals begin and end.
// So the time of the frame is cut at each change, and each piece has its own ratio of signal to
// interference and noise (SINR); ns-3's documentation calls such pieces chunks. All state is local
// to one receiver; there is no channel object.
//
// A free receiver that is not transmitting locks on the first signal that is strong enough, and
// stays locked until the signal ends. The powers are summed anew for each piece, in the order in
// which the signals began, so that a sum does not depend on signals that were added and removed
// before.
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

/// How the model decides whether a frame is received.
enum class Judgement : std::uint8_t {
  collision,   ///< any overlap with another signal destroys a frame (no capture); noise never does
  threshold,   ///< lost if the SINR of any piece is below what the rate requires
  error_rate,  ///< lost with the probability that at least one bit is wrong
};

/// The requirements of a rate, computed once.
struct Demand {
  double bits_per_tick = 0.0;
  double required = 0.0;  ///< SINR, a ratio

  static Demand of(const Rate& rate) {
    return {static_cast<double>(rate.megabits_per_second) / 1000.0, required_ratio(rate)};
  }
};

/// Settings that all receivers of a model share.
struct ReceiverSettings {
  Judgement judgement = Judgement::error_rate;
  double noise_w = 0.0;
  double sensitivity_w = 0.0;   ///< weakest signal that can be locked on
  double preamble_ratio = 0.0;  ///< SINR that locking requires when the signal begins
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

/// The outcome of a frame that the receiver was locked on.
struct Verdict {
  bool received;
  bool overlapped;  ///< another signal was on the air during a part of the frame
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

  /// Gives up the frame that the receiver is locked on, because the station transmits.
  void abandon() { locked_ = false; }

  /// Removes the signal of `link` that ends now. Returns false if there is no such signal.
  bool end(std::uint32_t link, std::int64_t now, const ReceiverSettings& settings) {
    close_piece(now, settings);
    for (std::size_t i = 0; i < signals_.size(); ++i) {
      if (signals_[i].link != link || signals_[i].end_ticks != now) continue;
      signals_.erase(signals_.begin() + static_cast<std::ptrdiff_t>(i));
      return true;
    }
    return false;
  }

  /// Judges the frame that has just ended and frees the receiver. Draws from `random` only for
  /// Judgement::error_rate.
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

  /// Over the pieces so far: the probability that no bit is wrong, and the worst SINR as a multiple
  /// of the SINR that the rate requires.
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

  /// Counts the piece from the last change to now: the part within the preamble at the basic rate,
  /// the rest at the frame's own rate.
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
