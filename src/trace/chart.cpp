// SPDX-License-Identifier: Apache-2.0
#include "trace/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/duration_text.h"
#include "observe/number_text.h"

namespace orrery::trace {
namespace {

constexpr unsigned kUsualWidth = 100, kTextWidth = 30;
constexpr std::size_t kLeastColumn = 7, kMostColumn = 12;

/// Characters of lifelines and arrows.
struct Strokes {
  const char *life, *line, *right, *left, *from, *event, *cross;
};
constexpr Strokes kUtf8{"│", "─", "▶", "◀", "├", "●", "┼"};
constexpr Strokes kAscii{"|", "-", ">", "<", "+", "o", "+"};

struct Shown {
  ReadEvent event;
  std::optional<ReadEvent> cause;
};

/// The events that are asked for, each with its cause if the trace has it, and what was not shown.
struct Selection {
  std::vector<Shown> events;
  std::uint64_t beyond = 0;  ///< events that are asked for and not in the list
};

bool is_asked_for(const ChartRequest& request, const ReadEvent& event) {
  const TraceScope scope{request.lps, request.from, request.to};
  return scope.contains(event.lp, event.key.time());
}

Selection select(TraceReader& reader, const ChartRequest& request) {
  Selection selection;
  reader.rewind();
  while (const std::optional<ReadEvent> event = reader.next()) {
    if (!is_asked_for(request, *event)) continue;
    if (selection.events.size() < request.limit)
      selection.events.push_back({*event, std::nullopt});
    else
      ++selection.beyond;
  }
  return selection;
}

/// A second look at the file: who sent what is shown.
void find_causes(TraceReader& reader, Selection& selection) {
  std::multimap<LpId, Shown*> by_sender;
  for (Shown& one : selection.events) by_sender.emplace(one.event.key.sender(), &one);
  reader.rewind();
  while (const std::optional<ReadEvent> event = reader.next()) {
    const auto [first, last] = by_sender.equal_range(event->lp);
    for (auto at = first; at != last; ++at)
      if (event->is_cause_of(at->second->event)) at->second->cause = *event;
  }
}

class Chart {
 public:
  Chart(const Selection& selection, double tick_seconds, const Terminal& terminal)
      : tick_seconds_(tick_seconds),
        strokes_(terminal.utf8 ? kUtf8 : kAscii),
        width_(terminal.width == 0 ? kUsualWidth : terminal.width) {
    for (const Shown& one : selection.events)
      time_width_ = std::max(time_width_, time_of(one.event).size());
    std::set<LpId> lps;
    for (const Shown& one : selection.events) {
      lps.insert(one.event.lp);
      if (!one.event.is_start()) lps.insert(one.event.key.sender());
    }
    const std::size_t room = width_ - std::min<std::size_t>(width_, time_width_ + kTextWidth + 4);
    const std::size_t most = std::max<std::size_t>(room / kLeastColumn, 2);
    for (const LpId lp : lps)
      if (columns_.size() < most) columns_.push_back(lp);
    left_out_ = lps.size() - columns_.size();
    column_width_ = std::clamp(room / std::max<std::size_t>(columns_.size(), 1), kLeastColumn,
                               kMostColumn);
  }

  /// LPs for which there is no column.
  std::size_t left_out() const { return left_out_; }

  std::string heading() const {
    std::string text = fmt::format("{:>{}}  ", "time", time_width_);
    for (const LpId lp : columns_) {
      const std::string name = fmt::format("LP {}", lp);
      text += fmt::format("{:<{}}", name.substr(0, column_width_ - 1), column_width_);
    }
    return text;
  }

  /// Empty for an event of an LP without a column.
  std::string line(const Shown& shown) {
    const auto to = column_of(shown.event.lp);
    if (!to) return "";
    const std::string time = time_of(shown.event);
    std::string text =
        fmt::format("{:>{}}  ", std::exchange(last_time_, time) == time ? "" : time, time_width_);
    const auto from = shown.event.is_start() ? to : column_of(shown.event.key.sender());
    return text + strokes(from.value_or(*to), *to) + description(shown);
  }

 private:
  std::string time_of(const ReadEvent& event) const {
    return duration_text(event.key.time() - Time::zero(), tick_seconds_);
  }
  std::optional<std::size_t> column_of(LpId lp) const {
    const auto found = std::lower_bound(columns_.begin(), columns_.end(), lp);
    if (found == columns_.end() || *found != lp) return std::nullopt;
    return static_cast<std::size_t>(found - columns_.begin());
  }

  /// Lifelines, with the arrow over those between the two.
  std::string strokes(std::size_t from, std::size_t to) const {
    const std::size_t first = std::min(from, to), last = std::max(from, to);
    std::string text;
    for (std::size_t column = 0; column < columns_.size(); ++column) {
      if (column == to)
        text += strokes_.event;
      else if (column == from)
        text += from < to ? strokes_.from : (strokes_.from == kUtf8.from ? "┤" : "+");
      else
        text += column > first && column < last ? strokes_.cross : strokes_.life;
      const bool within = column >= first && column < last;
      for (std::size_t i = 1; i < column_width_; ++i) {
        const bool head = within && (from < to ? column + 1 == last && i + 1 == column_width_
                                               : column == first && i == 1);
        text += head ? (from < to ? strokes_.right : strokes_.left) : within ? strokes_.line : " ";
      }
    }
    return text;
  }

  std::string description(const Shown& shown) const {
    const ReadEvent& event = shown.event;
    std::string text(event.type);
    if (event.is_start()) return text;
    const std::string own = event.key.sender() == event.lp ? "" : " ";
    if (!column_of(event.key.sender())) text += fmt::format(" from LP {}", event.key.sender());
    if (shown.cause)
      text += shown.cause->is_start() ? ", sent at the start"
                                      : fmt::format(", sent at {}", time_of(*shown.cause));
    return text;
  }

  const double tick_seconds_;
  const Strokes& strokes_;
  const std::size_t width_;
  std::size_t time_width_ = 4, column_width_ = kLeastColumn, left_out_ = 0;
  std::vector<LpId> columns_;
  std::string last_time_;
};

}  // namespace

std::string draw_chart(TraceReader& reader, const ChartRequest& request, const Terminal& terminal,
                       const std::function<void(const std::string&)>& line) {
  Selection selection = select(reader, request);
  find_causes(reader, selection);
  Chart chart(selection, reader.facts().tick_seconds, terminal);
  std::uint64_t without_column = 0;
  if (!selection.events.empty()) line(chart.heading());
  for (const Shown& one : selection.events) {
    const std::string text = chart.line(one);
    text.empty() ? void(++without_column) : line(text);
  }
  std::string note;
  if (selection.events.empty()) note = "no event of the trace is of these LPs and times";
  if (without_column > 0)
    note = fmt::format("{} events are of LPs for which there is no column; --lps chooses others",
                       grouped(without_column));
  if (selection.beyond > 0) {
    if (!note.empty()) note += "; ";
    note += fmt::format("{} more events follow (--from, --limit)", grouped(selection.beyond));
  }
  return note;
}

}  // namespace orrery::trace
