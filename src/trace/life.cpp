// SPDX-License-Identifier: Apache-2.0
#include "trace/life.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <unordered_map>

#include "core/cycles.h"
#include "trace/packets.h"

namespace orrery::trace {
namespace {

/// Room for a record, the ends of all records that enclose it, tracks of other lanes, and the end
/// of the trace.
constexpr std::uint64_t kRoomBytes = 4096;

std::int64_t steady_nanoseconds() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

/// Sorts by begin; of records with the same begin, the one with the later end encloses the others.
Lane lane_of(const TraceLane& recorded, const WallClock& clock, std::string name) {
  Lane lane;
  lane.name = std::move(name);
  lane.left_out = recorded.left_out();
  std::unordered_map<const char*, std::uint32_t> places;
  lane.texts.emplace_back();
  for (const TraceRecord& one : recorded) {
    std::uint32_t text = 0;
    if (!one.text.empty()) {
      const auto [found, is_new] =
          places.try_emplace(one.text.data(), static_cast<std::uint32_t>(lane.texts.size()));
      if (is_new) lane.texts.emplace_back(one.text);
      text = found->second;
    }
    lane.records.push_back({clock.nanoseconds(one.begin_cycles), clock.nanoseconds(one.end_cycles),
                            one.ticks, one.count, text, one.lp, one.kind});
  }
  std::reverse(lane.records.begin(), lane.records.end());  // enclosing records were recorded later
  std::stable_sort(lane.records.begin(), lane.records.end(), [](const auto& a, const auto& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
  });
  return lane;
}

/// The name of a slice.
std::string title(const Lane& lane, const Lane::Record& record) {
  const std::string& text = lane.texts[record.text];
  const std::string kind(name_of(record.kind));
  if (text.empty()) return kind;
  switch (record.kind) {
    case TraceKind::event:
    case TraceKind::engine:
      return text;
    case TraceKind::block:
      return text + " block";
    default:
      return fmt::format("{} ({})", text, kind);
  }
}

bool is_of_an_lp(TraceKind kind) {
  switch (kind) {
    case TraceKind::event:
    case TraceKind::coasted:
    case TraceKind::dropped:
    case TraceKind::rollback:
    case TraceKind::coasting:
    case TraceKind::restore:
    case TraceKind::checkpoint:
      return true;
    default:
      return false;
  }
}

/// The note that names the meaning of `count`.
Note note_of_count(TraceKind kind) {
  switch (kind) {
    case TraceKind::rollback:
      return Note::undone;
    case TraceKind::checkpoint:
      return Note::bytes;
    case TraceKind::gvt_round:
    case TraceKind::engine:
      return Note::committed;
    default:
      return Note::events;
  }
}

/// Writes the packets of one rank.
class LifePackets {
 public:
  LifePackets(unsigned rank, double tick_seconds, std::uint64_t most_bytes,
              const std::function<void(std::string&)>& flush)
      : rank_(rank),
        tick_seconds_(tick_seconds),
        most_bytes_(most_bytes),
        flush_(flush),
        packets_(kFirstLifeSequence + rank),
        group_((rank + 1) * kRankTracks) {}

  std::uint64_t write(const std::vector<Lane>& lanes) {
    const std::string name = rank_ == 0
                                 ? std::string("workers (wall-clock time)")
                                 : fmt::format("workers of rank {} (wall-clock time)", rank_);
    packets_.add_group(text_, group_, static_cast<std::int32_t>(2 + rank_), name,
                       "what each worker did; the axis is wall-clock time, from 0 where the run "
                       "begins");
    packets_.add_counter(text_, gvt_track(), group_, "GVT", "s of simulated time");
    packets_.add_counter(text_, committed_track(), group_, "committed", "events");
    std::uint64_t track = group_ + kFirstLpTrack, left_out = 0;
    bool counts = true;
    for (const Lane& lane : lanes) {
      packets_.add_track(text_, track, group_, lane.name, track - group_);
      left_out += write_lane(lane, track, counts);
      if (has_rounds(lane)) counts = false;  // all workers have the same counters in a round
      ++track;
    }
    Packets::Event(packets_, text_, EventKind::instant, last_, group_, kTail)
        .note(Note::left_out, left_out);
    flush_(text_);
    return left_out;
  }

 private:
  std::uint64_t gvt_track() const { return group_ + 1; }
  std::uint64_t committed_track() const { return group_ + 2; }
  static bool has_rounds(const Lane& lane) {
    return std::any_of(lane.records.begin(), lane.records.end(),
                       [](const auto& record) { return record.kind == TraceKind::gvt_round; });
  }

  /// Returns how many records are left out.
  std::uint64_t write_lane(const Lane& lane, std::uint64_t track, bool counts) {
    std::vector<std::uint64_t> open;  // ends of the enclosing records
    std::uint64_t left_out = lane.left_out;
    for (const Lane::Record& record : lane.records) {
      while (!open.empty() && open.back() <= record.begin) end_last(open, track);
      if (written_ + text_.size() + kRoomBytes > most_bytes_) {
        ++left_out;
        continue;
      }
      // Cycle counters of two cores may differ by some cycles when a thread moves.
      const std::uint64_t end = open.empty() ? record.end : std::min(record.end, open.back());
      begin(lane, record, track);
      open.push_back(end);
      if (counts && record.kind == TraceKind::gvt_round) count(record);
      if (text_.size() >= kPieceBytes) flush();
    }
    while (!open.empty()) end_last(open, track);
    return left_out;
  }

  void begin(const Lane& lane, const Lane::Record& record, std::uint64_t track) {
    Packets::Event event(packets_, text_, EventKind::begin, record.begin, track,
                         title(lane, record));
    if (is_of_an_lp(record.kind)) event.note(Note::lp, std::uint64_t{record.lp});
    if (record.ticks > 0) event.note(Note::ticks, record.ticks);
    if (record.count > 0) event.note(note_of_count(record.kind), record.count);
  }
  void end_last(std::vector<std::uint64_t>& open, std::uint64_t track) {
    const Packets::Event event(packets_, text_, EventKind::end, open.back(), track);
    last_ = std::max(last_, open.back());
    open.pop_back();
  }
  void count(const Lane::Record& record) {
    Packets::Event(packets_, text_, EventKind::counter, record.begin, gvt_track())
        .counts(static_cast<double>(record.ticks) * tick_seconds_);
    Packets::Event(packets_, text_, EventKind::counter, record.begin, committed_track())
        .counts(static_cast<std::int64_t>(record.count));
  }
  void flush() {
    written_ += text_.size();
    flush_(text_);
  }

  const unsigned rank_;
  const double tick_seconds_;
  const std::uint64_t most_bytes_;
  const std::function<void(std::string&)>& flush_;
  Packets packets_;
  const std::uint64_t group_;
  std::string text_;
  std::uint64_t written_ = 0, last_ = 0;
};

}  // namespace

WallClock::WallClock()
    : begin_cycles_(read_cycles()),
      begin_nanoseconds_(steady_nanoseconds()),
      epoch_nanoseconds_(std::chrono::duration_cast<std::chrono::nanoseconds>(
                             std::chrono::system_clock::now().time_since_epoch())
                             .count()) {}

void WallClock::stop() {
  end_cycles_ = read_cycles();
  const std::int64_t elapsed = steady_nanoseconds() - begin_nanoseconds_;
  nanoseconds_a_cycle_ = static_cast<double>(elapsed) / static_cast<double>(std::max<std::uint64_t>(
                                                            end_cycles_ - begin_cycles_, 1));
}

std::uint64_t WallClock::nanoseconds(std::uint64_t cycles) const {
  if (cycles <= begin_cycles_) return 0;
  return static_cast<std::uint64_t>(static_cast<double>(cycles - begin_cycles_) *
                                    nanoseconds_a_cycle_);
}

std::vector<Lane> lanes_of(const TraceRecorder& recorder, const WallClock& clock) {
  std::vector<Lane> lanes;
  lanes.push_back(lane_of(recorder.run_lane(), clock, "run"));
  for (unsigned i = 0; i < recorder.workers(); ++i) {
    const TraceLane& lane = recorder.worker_lane(i);
    if (lane.begin() != lane.end())
      lanes.push_back(lane_of(lane, clock, fmt::format("worker {}", i)));
  }
  return lanes;
}

std::uint64_t append_life(const std::vector<Lane>& lanes, unsigned rank, double tick_seconds,
                          std::uint64_t most_bytes,
                          const std::function<void(std::string&)>& flush) {
  return LifePackets(rank, tick_seconds, most_bytes, flush).write(lanes);
}

}  // namespace orrery::trace
