// SPDX-License-Identifier: Apache-2.0
#include "orrery/context.h"

#include <memory>
#include <stdexcept>
#include <string>

#include "core/dead_timer.h"
#include "core/fingerprint.h"
#include "core/ledger.h"
#include "core/mergeable_statistics.h"
#include "core/row_cells.h"
#include "memory/application_mode.h"
#include "orrery/error.h"
#include "orrery/logical_process.h"
#include "orrery/model.h"
#include "orrery/reverse.h"

namespace orrery {

void Phase::refuse(unsigned number) {
  throw std::invalid_argument("a phase is 0 to " + std::to_string(kMost) + ", but it is " +
                              std::to_string(number));
}

LogicalProcessBase::~LogicalProcessBase() {
  Ledger::destroy(ledger_);
}

Ledger& OutputContext::ledger() {
  if (lp_->ledger_ == nullptr) lp_->ledger_ = Ledger::create(metric_bytes_);
  return *lp_->ledger_;
}

void OutputContext::record(const Metric& metric, double value) {
  if (metric.is_level()) [[unlikely]]
    throw ModelFault("it records a value of metric '" + metric.name() +
                     "', which keeps a level: call level(metric, value)");
  if (now_ < metric.observed_from()) return;
  Summary& summary = ledger().summary(metric);
  if (reversing_) [[unlikely]]
    save_before(&summary, sizeof summary);
  summary.add(value);
  if (metric.is_counted()) add_observation(metric, value, 0);
}

void OutputContext::level(const Metric& metric, double value) {
  if (!metric.is_level()) [[unlikely]]
    throw ModelFault("it sets the level of metric '" + metric.name() +
                     "', which keeps values: call record(metric, value), or let the metric "
                     "keep Keep::level");
  LevelState& level = ledger().level(metric);
  if (reversing_) [[unlikely]]
    save_before(&level, sizeof level);
  const double before = level.value;
  level.set(value, now_, metric.observed_from());
  if (metric.is_counted()) add_observation(metric, value, before);
}

/// Not inlined, so that values that are only summed up do not pay for its stack frame.
[[gnu::noinline]] void OutputContext::add_observation(const Metric& metric, double value,
                                                      double before) {
  if (now_ >= metric.series_end()) [[unlikely]]
    throw ModelFault("the series of metric '" + metric.name() +
                     "' has come to its 1048576th interval; give it longer ones");
  observe({metric.index(), self_, now_, value, before});
}

void OutputContext::observe(const Observation&) {}

void OutputContext::save_before(const void*, std::size_t) {}

void Context::remember_bytes(const void*, std::size_t) {}

const std::byte* ReverseContext::take(std::size_t bytes) {
  std::uint64_t remembered = 0;
  if (end_ == begin_) throw ModelFault("it recalls a value where none is left that was remembered");
  std::memcpy(&remembered, end_ - sizeof remembered, sizeof remembered);
  if (remembered != bytes) {
    throw ModelFault("it recalls " + std::to_string(bytes) + " bytes where " +
                     std::to_string(remembered) +
                     " were remembered; recall in the opposite order, with the same types");
  }
  end_ -= sizeof remembered + (bytes + 7) / 8 * 8;
  return end_;
}

namespace {

/// "1 column", "2 columns"
std::string counted(std::size_t n, const char* noun) {
  return std::to_string(n) + " " + noun + (n == 1 ? "" : "s");
}

ColumnType kind_of_value(detail::ValueKinds kinds, std::size_t i) {
  if (((kinds.integers >> i) & 1) != 0) return ColumnType::integer;
  return ((kinds.texts >> i) & 1) != 0 ? ColumnType::text : ColumnType::real;
}

const char* describe_value(ColumnType kind) {
  switch (kind) {
    case ColumnType::integer:
      return "an integer";
    case ColumnType::real:
      return "a floating-point number";
    case ColumnType::text:
      return "a text";
  }
  return "";
}

void check_row(const Table& table, std::size_t values, detail::ValueKinds kinds) {
  const auto& columns = table.columns();
  if (values != columns.size()) {
    throw ModelFault("emit() to table '" + table.name() + "' with " + counted(values, "value") +
                     ", but it has " + counted(columns.size(), "column"));
  }
  for (std::size_t i = 0; i < values; ++i) {
    const ColumnType kind = kind_of_value(kinds, i);
    if (kind == columns[i].type) continue;
    throw ModelFault("emit() to table '" + table.name() + "': value " + std::to_string(i + 1) +
                     " is " + describe_value(kind) + ", its column '" + columns[i].name +
                     "' is not");
  }
}

}  // namespace

void OutputContext::add_row(std::uint32_t table, std::span<const std::uint64_t> cells) {
  hash_ = fingerprint::add_word(hash_, table);
  hash_ = fingerprint::add_bytes(hash_, cells.data(), cells.size_bytes());
  append_row(table, cells);
}

void OutputContext::emit_numbers(const Table& table, std::span<const std::uint64_t> cells,
                                 detail::ValueKinds kinds) {
  check_row(table, cells.size(), kinds);
  add_row(table.index(), cells);
}

void OutputContext::emit_texts(const Table& table, std::span<const std::uint64_t> cells,
                               std::span<const std::string_view> texts, detail::ValueKinds kinds) {
  check_row(table, cells.size(), kinds);
  row_cells::Words words;
  const std::size_t count = row_cells::pack(cells, texts, words);
  if (count == 0) {
    throw ModelFault("emit() to table '" + table.name() + "' with more than " +
                     std::to_string(Table::kMaxTextBytes) + " bytes of text");
  }
  add_row(table.index(), {words.data(), count});
}

/// Packs the bytes in a frame of its own, since few handlers need one of 64 KiB.
void OutputContext::capture(const Capture& interface, std::span<const std::byte> bytes) {
  if (bytes.size() > Capture::kMaxBytes)
    throw ModelFault("it captures " + std::to_string(bytes.size()) + " bytes at interface '" +
                     interface.name() + "'; at most " + std::to_string(Capture::kMaxBytes) +
                     " are possible");
  std::uint64_t words[row_cells::kMostCaptureWords];
  const std::size_t count = row_cells::pack_capture(bytes, words);
  add_row(row_cells::table_of(interface), {words, count});
}

void Context::refuse_duration(LpId destination, Duration delay, Duration duration) const {
  const std::string what = "it sent an expanded event to LP " + std::to_string(destination);
  const std::string ticks = std::to_string(duration.ticks()) + " ticks";
  if (duration.ticks() < 0)
    throw ModelFault(what + " with the negative duration of " + ticks +
                     "; a duration is 0 or more");
  throw ModelFault(what + " that starts " + std::to_string(delay.ticks()) +
                   " ticks from now with a duration of " + ticks +
                   ": its end is beyond the clock's range of " +
                   std::to_string(Time::max().ticks()) + " ticks; use a shorter duration");
}

/// Only for contexts of tests: the contexts of engines write a payload directly into the event.
void Context::send_parts(LpId destination, Duration delay, EventTypeId type,
                         const detail::PayloadParts& parts) {
  const auto bytes = static_cast<std::uint32_t>(parts.size());
  const auto payload = std::make_unique<std::byte[]>(bytes);
  parts.write(payload.get());
  send(destination, delay, type, PayloadSize(bytes, parts.hashed, parts.has_trailer).word(),
       payload.get());
}

/// The `save` argument of the set of timers, called before it changes.
struct Context::Saver {
  Context& context;
  void operator()(const void* address, std::size_t bytes) const {
    if (context.reversing_) context.save_before(address, bytes);
  }
};

void Context::end_timer(std::uint32_t place) {
  ledger().timers.remove(place, Saver{*this});
}

Timer Context::send_timer(Duration delay, EventTypeId type, detail::PayloadParts parts) {
  const std::uint64_t number = sends_ + 1;
  const std::uint32_t place = ledger().timers.add(number, Saver{*this});
  const bool silent = parts.has_trailer;
  parts.has_trailer = true;
  parts.trailer = timer_trailer(place, silent);
  send_parts(self_, delay, type, parts);
  return Timer(number, self_, place);
}

bool Context::cancel(const Timer& timer) {
  if (!timer) return false;
  if (timer.owner_ != self_) [[unlikely]]
    fail("it cancels a timer of LP " + std::to_string(timer.owner_) +
         "; only the LP that has set a timer can cancel it: send that LP an event");
  if (!ledger().timers.holds(timer.place_, timer.number_)) return false;
  end_timer(timer.place_);
  ++cancelled_timers_;
  return true;
}

void Context::hash_bytes(std::span<const std::byte> bytes) {
  hash_ = fingerprint::add_bytes(hash_, bytes.data(), bytes.size());
}

void detail::refuse_bytes(std::size_t event_bytes, std::size_t payload_bytes) {
  throw ModelFault(
      "the event carries " + std::to_string(payload_bytes - bytes_begin(event_bytes)) +
      " bytes, which its handler does not take; write 'void handle(orrery::Context& context, const "
      "E& event, std::span<const std::byte> bytes)' with E for the event type");
}

void Context::fail(std::string_view why) const {
  throw ModelFault(std::string(why));
}

void FinalContext::record(const Metric& metric, double value, Time since) {
  if (since < metric.observed_from()) return leave_out(metric);
  OutputContext::record(metric, value);
}

void FinalContext::add_state(const void* bytes, std::size_t size) {
  hash_ = fingerprint::add_bytes(hash_, bytes, size);
}

void poll() noexcept {
  memory::heed_attention();
}

}  // namespace orrery
