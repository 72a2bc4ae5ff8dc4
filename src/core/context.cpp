// SPDX-License-Identifier: Apache-2.0
#include "orrery/context.h"

#include <string>

#include "core/fingerprint.h"
#include "orrery/error.h"
#include "orrery/logical_process.h"
#include "orrery/model.h"
#include "orrery/reverse.h"

namespace orrery {

LogicalProcessBase::~LogicalProcessBase() {
  delete[] metrics_;
}

void OutputContext::record(const Metric& metric, double value) {
  if (lp_->metrics_ == nullptr) lp_->metrics_ = new Summary[metric_count_];
  Summary& summary = lp_->metrics_[metric.index()];
  if (reversing_) [[unlikely]]
    save_before(&summary, sizeof summary);
  summary.add(value);
}

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

void check_row(const Table& table, std::size_t values, std::uint32_t integers) {
  const auto& columns = table.columns();
  if (values != columns.size()) {
    throw ModelFault("emit() to table '" + table.name() + "' with " + counted(values, "value") +
                     ", but it has " + counted(columns.size(), "column"));
  }
  for (std::size_t i = 0; i < values; ++i) {
    const bool is_integer = ((integers >> i) & 1) != 0;
    if (is_integer == (columns[i].type == ColumnType::integer)) continue;
    throw ModelFault("emit() to table '" + table.name() + "': value " + std::to_string(i + 1) +
                     (is_integer ? " is an integer" : " is a floating-point number") +
                     ", its column '" + columns[i].name + "' is not");
  }
}

}  // namespace

void OutputContext::emit_cells(const Table& table, std::span<const std::uint64_t> cells,
                               std::uint32_t integers) {
  check_row(table, cells.size(), integers);
  hash_ = fingerprint::add_word(hash_, table.index());
  hash_ = fingerprint::add_bytes(hash_, cells.data(), cells.size_bytes());
  append_row(table, cells);
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

void Context::fail(std::string_view why) const {
  throw ModelFault(std::string(why));
}

void FinalContext::add_state(const void* bytes, std::size_t size) {
  hash_ = fingerprint::add_bytes(hash_, bytes, size);
}

}  // namespace orrery
