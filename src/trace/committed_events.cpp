// SPDX-License-Identifier: Apache-2.0
#include "trace/committed_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace orrery::trace {
namespace {

/// The bytes of a varint.
std::uint64_t varint_bytes(std::uint64_t value) {
  std::uint64_t bytes = 1;
  for (; value >= 0x80; value >>= 7) ++bytes;
  return bytes;
}

}  // namespace

TimeScale::TimeScale(double tick_seconds, std::int64_t last_ticks)
    : is_real_(tick_seconds * 1e9 >= 1 - 1e-9 &&
               static_cast<double>(last_ticks) * tick_seconds * 1e9 < 9e18),
      clock_(is_real_ ? tick_seconds : 1e-9) {}

CommittedEvents::CommittedEvents(Facts facts, std::uint64_t most_bytes, TraceRecorder& recorder,
                                 RowWriter* next)
    : facts_(std::move(facts)),
      most_bytes_(most_bytes),
      recorder_(recorder),
      next_(next),
      names_(1, std::string(kStart)),
      lps_seen_(facts_.lps) {
  constexpr std::uint64_t kFrameBytes = 2048;  // groups, names of notes, head and tail
  bytes_ = kFrameBytes + facts_.model.size() + text_of(facts_.scope.lps).size();
  for (const std::string& parameter : facts_.parameters) bytes_ += parameter.size() + 1;
}

void CommittedEvents::write(const Row& row) {
  if (row.table != TracedEvent::kTable) {
    if (next_ != nullptr) next_->write(row);
    return;
  }
  if (is_full()) return;
  const TracedEvent traced = TracedEvent::read(row);
  std::uint32_t name = 0;
  if (!traced.name.empty()) {
    const auto [found, is_new] =
        types_.try_emplace(traced.type, static_cast<std::uint32_t>(names_.size()));
    name = found->second;
    if (is_new) {
      names_.emplace_back(traced.name);
      bytes_ += traced.name.size() + 16;
    }
  }
  const Stored event{traced.key,           traced.lp,        name,
                     traced.payload_bytes, traced.sends,     traced.duration_ticks,
                     traced.fingerprint,   traced.first_send};
  const std::uint64_t bytes = bytes_of(event);
  if (bytes_ + bytes > most_bytes_) {
    full_at_ = event.key.time();
    recorder_.refuse_events();
    return;
  }
  bytes_ += bytes;
  if (name == 0) ++starts_;
  events_.push_back(event);
}

/// An upper bound of the bytes of the event's packet, of its end if it has a duration, of its LP's
/// track if it is the first there, and of an arrow to it.
std::uint64_t CommittedEvents::bytes_of(const Stored& event) {
  constexpr std::uint64_t kTrackBytes = 64, kEndBytes = 36, kArrowBytes = 2 * 11;
  // Tags and lengths of packet, event and up to ten notes, timestamp, flags, type, fingerprint.
  constexpr std::uint64_t kFixedBytes = 4 + 11 + 4 + 4 + 2 + 10 * 5 + 10;
  std::uint64_t bytes = kFixedBytes + kArrowBytes + varint_bytes(kFirstLpTrack + event.lp) + 1 +
                        varint_bytes(event.name + 1) + 1 +
                        varint_bytes(static_cast<std::uint64_t>(event.key.time().ticks())) +
                        varint_bytes(event.key.phase()) + varint_bytes(event.key.microstep()) +
                        varint_bytes(event.key.sender()) + varint_bytes(event.key.sequence()) +
                        varint_bytes(event.payload_bytes) + varint_bytes(event.first_send) +
                        varint_bytes(event.sends);
  if (event.duration_ticks > 0)
    bytes += kEndBytes + varint_bytes(static_cast<std::uint64_t>(event.duration_ticks));
  if (event.lp < lps_seen_.size() && !lps_seen_[event.lp]) {
    lps_seen_[event.lp] = true;
    bytes += kTrackBytes + facts_.lp_text(event.lp).size();
  }
  return bytes;
}

/// Writes the packets of the stored events.
class CommittedPackets {
 public:
  CommittedPackets(const CommittedEvents& all, const std::function<void(std::string&)>& flush)
      : all_(all),
        flush_(flush),
        packets_(kCommittedSequence),
        scale_(all.facts_.tick_seconds, last_ticks(all)),
        seen_(all.facts_.lps),
        open_until_(all.facts_.lps, kClosed) {}

  void write() {
    index_sends();
    write_head();
    for (const Stored& event : all_.events_) {
      write_event(event);
      if (text_.size() >= kPieceBytes) flush_(text_);
    }
    for (LpId lp = 0; lp < open_until_.size(); ++lp) close(lp, kClosed);
    write_tail();
    flush_(text_);
  }

 private:
  using Stored = CommittedEvents::Stored;
  using Send = std::pair<LpId, std::uint64_t>;
  static constexpr std::uint64_t kClosed = std::numeric_limits<std::uint64_t>::max();

  static std::int64_t last_ticks(const CommittedEvents& all) {
    std::int64_t last = 0;
    for (const Stored& event : all.events_)
      last = std::max(last, event.key.time().ticks() + event.duration_ticks);
    return last;
  }
  static bool is_start(const Stored& event) { return event.name == 0; }

  /// Lists the events that are in the trace, by sender. The number of a flow is an index in this
  /// list.
  void index_sends() {
    for (const Stored& event : all_.events_)
      if (!is_start(event)) sends_.emplace_back(event.key.sender(), event.key.sequence());
    std::sort(sends_.begin(), sends_.end());
    begun_.resize(sends_.size());
  }
  std::size_t place_of(LpId sender, std::uint64_t send) const {
    return static_cast<std::size_t>(
        std::lower_bound(sends_.begin(), sends_.end(), Send{sender, send}) - sends_.begin());
  }

  void write_head() {
    const Facts& facts = all_.facts_;
    packets_.add_group(
        text_, kLpsTrack, 1, "LPs (simulated time)",
        scale_.is_real()
            ? "committed events of each LP; the axis is simulated time, from 0"
            : "committed events of each LP; the axis is simulated time, from 0, a nanosecond for "
              "each tick of the model");
    Packets::Event(packets_, text_, EventKind::instant, 0, kLpsTrack, kHead)
        .note(Note::version, kVersion)
        .note(Note::model, std::string_view(facts.model))
        .note(Note::parameters,
              std::string_view(fmt::format("{}", fmt::join(facts.parameters, "\n"))))
        .note(Note::seed, facts.seed)
        .note(Note::tick_seconds, facts.tick_seconds)
        .note(Note::lps, facts.lps)
        .note(Note::lp_ranges, std::string_view(text_of(facts.scope.lps)))
        .note(Note::from, facts.scope.from.ticks())
        .note(Note::to, facts.scope.to.ticks());
  }

  void write_tail() {
    const std::int64_t last = all_.events_.empty() ? 0 : all_.events_.back().key.time().ticks();
    Packets::Event tail(packets_, text_, EventKind::instant, scale_.timestamp(last), kLpsTrack,
                        kTail);
    tail.note(Note::events, all_.events()).note(Note::whole, !all_.is_full());
    if (all_.is_full()) tail.note(Note::until, all_.full_at()->ticks());
  }

  void write_event(const Stored& event) {
    const std::int64_t ticks = event.key.time().ticks();
    const std::uint64_t now = scale_.timestamp(ticks);
    if (!seen_[event.lp]) {
      seen_[event.lp] = true;
      packets_.add_track(text_, kFirstLpTrack + event.lp, kLpsTrack, all_.facts_.lp_text(event.lp),
                         event.lp);
    }
    close(event.lp, now);
    const bool lasts = event.duration_ticks > 0;
    if (lasts) open_until_[event.lp] = scale_.timestamp(ticks + event.duration_ticks);
    Packets::Event one(packets_, text_, lasts ? EventKind::begin : EventKind::instant, now,
                       kFirstLpTrack + event.lp, all_.names_[event.name]);
    one.note(Note::ticks, ticks);
    if (!is_start(event)) {
      if (event.key.phase() > 0) one.note(Note::phase, std::uint64_t{event.key.phase()});
      if (event.key.microstep() > 0)
        one.note(Note::microstep, std::uint64_t{event.key.microstep()});
      one.note(Note::sender, std::uint64_t{event.key.sender()})
          .note(Note::send, event.key.sequence())
          .note(Note::payload, std::uint64_t{event.payload_bytes});
      if (lasts) one.note(Note::duration, event.duration_ticks);
    }
    one.note_bits(Note::fingerprint, event.fingerprint);
    add_arrows(event, one);
  }

  /// The arrow from the event's cause, and the arrows to its effects.
  void add_arrows(const Stored& event, Packets::Event& one) {
    if (event.sends > 0) {
      one.note(Note::first_send, event.first_send).note(Note::sends, std::uint64_t{event.sends});
      flows_.clear();
      for (std::size_t at = place_of(event.lp, event.first_send);
           at < sends_.size() && sends_[at].first == event.lp &&
           sends_[at].second < event.first_send + event.sends;
           ++at) {
        begun_[at] = true;
        flows_.push_back(at + 1);
      }
      one.flows(flows_);
    }
    if (is_start(event)) return;
    const std::size_t at = place_of(event.key.sender(), event.key.sequence());
    if (begun_[at]) one.ends_flow(at + 1);
  }

  /// Ends the slice that is open at the LP, at its own end or at `now`.
  void close(LpId lp, std::uint64_t now) {
    if (open_until_[lp] == kClosed) return;
    const std::uint64_t end = std::min(open_until_[lp], now);
    open_until_[lp] = kClosed;
    const Packets::Event ended(packets_, text_, EventKind::end, end, kFirstLpTrack + lp);
  }

  const CommittedEvents& all_;
  const std::function<void(std::string&)>& flush_;
  Packets packets_;
  const TimeScale scale_;
  std::string text_;
  std::vector<Send> sends_;
  std::vector<bool> begun_;  ///< by flow: its cause is written
  std::vector<bool> seen_;   ///< by LP: its track is written
  std::vector<std::uint64_t> open_until_, flows_;
};

void CommittedEvents::append_packets(const std::function<void(std::string&)>& flush) const {
  CommittedPackets(*this, flush).write();
}

}  // namespace orrery::trace
