// SPDX-License-Identifier: Apache-2.0
#include "outgoing.h"

#include <algorithm>
#include <cmath>

namespace orrery::lab {
namespace {

/// Bytes of Ethernet with a VLAN tag, without the checksum.
constexpr std::size_t kFrameOverhead = 18;

std::int64_t transmission_ns(std::size_t bytes, std::uint64_t bits_per_s) {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  return bits_per_s == 0 ? 0 : static_cast<std::int64_t>(bytes * 8 * kSecond / bits_per_s);
}

}  // namespace

std::int64_t Outgoing::jitter(const Phase& phase) {
  const auto scale = static_cast<double>(phase.jitter_ns);
  switch (phase.jitter) {
    case Phase::Jitter::exponential:
      return std::llround(random_.exponential(scale));
    case Phase::Jitter::normal:
      return std::llround(std::abs(random_.normal(0, scale)));
    case Phase::Jitter::uniform:
      break;
  }
  return std::llround(random_.uniform(0, scale));
}

Outgoing::Passage Outgoing::send(std::int64_t time, std::size_t bytes) {
  const Passage passage = decide(time, bytes);
  ++counts_.frames;
  if (!passage.arrives()) ++counts_.not_arrived;
  if (passage.arrives() || passage.fate == Fate::lost) counts_.bytes_on_the_wire += bytes;
  return passage;
}

Outgoing::Passage Outgoing::decide(std::int64_t time, std::size_t bytes) {
  const Phase& phase = wire_->at(time);
  Passage passage;
  passage.free_ns = time;
  if (!phase.up || bytes > wire_->mtu + kFrameOverhead) {
    passage.fate = phase.up ? Fate::too_long : Fate::link_down;
    return passage;
  }
  while (!begins_ns_.empty() && begins_ns_.front() <= time) begins_ns_.pop_front();
  const std::int64_t begin = std::max(time, busy_until_ns_);
  if (wire_->queue && begin > time) {
    if (begins_ns_.size() >= *wire_->queue) {
      passage.fate = Fate::queue_full;
      return passage;
    }
    begins_ns_.push_back(begin);
  }
  busy_until_ns_ = begin + transmission_ns(bytes, phase.bits_per_s);
  if (!wire_->queue) passage.free_ns = busy_until_ns_;
  std::int64_t arrival = busy_until_ns_ + phase.delay_ns;
  if (phase.jitter_ns > 0) arrival += jitter(phase);
  if (!wire_->reorders) arrival = std::max(arrival, last_arrival_ns_);
  last_arrival_ns_ = arrival;
  passage.arrival_ns = arrival;
  if (phase.loss > 0 && random_.bernoulli(phase.loss)) {
    passage.fate = Fate::lost;
  } else if (!wire_->is_up(time, arrival)) {
    passage.fate = Fate::link_down;
  } else if (phase.corruption > 0 && random_.bernoulli(phase.corruption)) {
    passage.fate = Fate::corrupted;
    passage.flipped_bit = random_.below(bytes * 8);
  }
  return passage;
}

}  // namespace orrery::lab
