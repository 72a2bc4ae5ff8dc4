// SPDX-License-Identifier: Apache-2.0
#include "snapshot/snapshot_taker.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <utility>

#include "memory/model_heap.h"
#include "orrery/error.h"
#include "transport/ranks/bytes.h"
#include "transport/ranks/rank_transport.h"

namespace orrery::snapshot {

Time Times::next(const Key& cut) const {
  Time next = Time::max();
  if (every > Duration::zero()) {
    const std::int64_t step = every.ticks();
    const std::int64_t multiple = cut.time().ticks() / step * step;
    if (multiple <= Time::max().ticks() - step) next = Time::from_ticks(multiple + step);
  }
  for (const Time& one : at)
    if (Key::start_of(one) > cut) next = std::min(next, one);
  return next;
}

bool Times::are_behind(const Key& cut) const {
  return at.empty() || cut >= Key::start_of(at.back());
}

SnapshotTaker::SnapshotTaker(const Folder& folder, Manifest facts, Times times, RunControl& control,
                             RowHooks rows, std::function<void(const std::string&)> tell,
                             Check check)
    : facts_(std::move(facts)),
      times_(std::move(times)),
      control_(control),
      flush_rows_(std::move(rows.flush)),
      check_(std::move(check)),
      last_cut_(facts_.cut),
      writer_(folder, facts_, {std::move(rows.synchronise), std::move(tell)}) {}

Goal SnapshotTaker::next_goal(const World& world) {
  if (!std::exchange(is_ready_, true)) writer_.reserve(ImageNeeds::of(world));
  Goal goal;
  goal.until = until_ = times_.next(world.cut);
  goal.asked = &control_.halt_requested;
  control_.clock_halts.allow(next_by_clock_, world.committed);
  return goal;
}

bool SnapshotTaker::at_halt(World& world) {
  control_.clock_halts.forbid();
  Stopwatch watch;
  const bool goes_on = keep(world);
  pace(watch.elapsed() + std::exchange(hand_over_seconds_, 0));
  return goes_on;
}

void SnapshotTaker::pace(double halt_seconds) {
  using Clock = ClockHalts::Clock;
  const auto cost =
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(halt_seconds));
  const Clock::duration pause = ClockHalts::pause_after(cost, facts_.wall_share);
  next_by_clock_ = Clock::now() + pause;
  longest_halt_seconds_ = std::max(longest_halt_seconds_, halt_seconds);
  is_held_back_ |= pause > std::chrono::duration<double>(facts_.wall_every_seconds);
}

/// Empty if the snapshots came as often as requested.
std::string SnapshotTaker::pace_note() const {
  if (facts_.wall_every_seconds <= 0 || !is_held_back_) return "";
  return fmt::format(
      "snapshots came less often than --snapshot-wall asks for: the run halts for up to {:.2g} s "
      "each time, and that may be {:.3g} % of its time (--snapshot-share)",
      longest_halt_seconds_, 100 * facts_.wall_share);
}

/// A request by a signal that comes while the world is copied is for the next snapshot.
bool SnapshotTaker::keep(World& world) {
  control_.take_halt_request();
  settle_last();
  if (world.cut != last_cut_ || facts_.number == 0) take(world);
  std::exception_ptr failure;
  try {
    if (check_) check();
  } catch (...) {
    failure = std::current_exception();
  }
  const bool stops = control_.stop_at_halt.load(std::memory_order_relaxed);
  if (agree_to_end(stops, failure)) return false;
  ended_by_plan_ = times_.end_after && times_.are_behind(world.cut);
  return !ended_by_plan_;
}

/// Waits until the other ranks' parts of the last snapshot exist, or have failed.
void SnapshotTaker::settle_last() {
  if (control_.ranks == nullptr) return;
  if (!is_first()) writer_.wait();
  control_.ranks->gather_everywhere({});
  if (is_first()) writer_.give_up_if_missing(facts_.number);
}

/// Returns the first rank's `ends` on all ranks. Its failure is thrown on all ranks.
bool SnapshotTaker::agree_to_end(bool ends, std::exception_ptr failure) const {
  if (control_.ranks == nullptr) {
    if (failure) std::rethrow_exception(failure);
    return ends;
  }
  transport::ByteWriter own;
  own.put(ends).put(failure != nullptr);
  const std::vector<transport::Parcel> all = control_.ranks->gather_everywhere(own.take());
  transport::ByteReader first(all.front());
  const bool end = first.get<bool>();
  if (!first.get<bool>()) return end;
  if (failure) std::rethrow_exception(failure);
  throw ModelFault("the check of a snapshot by the first rank failed");
}

/// Checks the first two snapshots that are written.
void SnapshotTaker::check() {
  writer_.wait();
  const unsigned first = std::exchange(before_, writer_.last());
  if (first == 0 || first == before_) return;
  check_note_ = std::exchange(check_, nullptr)(first, before_);
}

void SnapshotTaker::take(World& world) {
  Stopwatch watch;
  Image& image = writer_.image();
  ++facts_.number;
  last_cut_ = world.cut;
  try {
    image.take(world, is_first() ? memory::model_heap() : nullptr);
  } catch (const std::bad_alloc&) {
    refusal_ = "a snapshot was left out: there was no memory for a copy of the LPs";
    return;
  }
  facts_.wall_seconds += since_last_.lap();
  Manifest manifest = facts_;
  manifest.created = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
  // An engine may put its cut at the first event after the goal; no event lies between.
  manifest.cut = std::min(world.cut, Key::start_of(until_));
  manifest.committed = world.committed;
  manifest.executed = world.executed;
  manifest.pending = 0;
  for (const EventList& list : world.pending) manifest.pending += list.size();
  manifest.trail_ticks = world.trail.instant().ticks();
  manifest.trail_lps = world.trail.lps();
  manifest.fingerprint = image.fingerprint();
  manifest.rows_bytes = flush_rows_();
  writer_.write(std::move(manifest));
  longest_take_seconds_ = std::max(longest_take_seconds_, watch.lap());
}

void SnapshotTaker::at_end(RunResult& result) {
  settle_last();
  writer_.wait();
  const auto add = [&](const char* name, double value, const char* help, const char* unit = "") {
    result.statistics.push_back({name, unit, help, value});
  };
  add("snapshots", writer_.written(), "snapshots written during the run");
  if (writer_.written() > 0) {
    add("snapshot_bytes", static_cast<double>(writer_.last_bytes()), "size of the last snapshot",
        "B");
    add("snapshot_copy", longest_take_seconds_,
        "longest time to copy the world, while the run waits", "s");
    add("snapshot_write", writer_.longest_seconds(),
        "longest time to write a snapshot to disk, while the run goes on", "s");
  }
  if (writer_.failed() > 0)
    result.notes.push_back(fmt::format("{} of {} snapshots could not be written", writer_.failed(),
                                       writer_.failed() + writer_.written()));
  if (const std::string note = pace_note(); !note.empty()) result.notes.push_back(note);
  if (!check_note_.empty()) result.notes.push_back(check_note_);
  if (check_)
    result.notes.push_back(
        "--snapshot-check compared nothing: the run took fewer than two snapshots");
  if (!refusal_.empty()) result.notes.push_back(refusal_);
}

}  // namespace orrery::snapshot
