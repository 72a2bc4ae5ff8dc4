// SPDX-License-Identifier: Apache-2.0
#include "trace/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/duration_text.h"
#include "output/number_text.h"

namespace orrery::trace {
namespace {

constexpr unsigned kUsualWidth = 100, kTimeWidth = 15, kTextWidth = 30;
constexpr std::size_t kLeastColumn = 7, kMostColumn = 12, kMostNamedColumn = 20;

/// Characters of lifelines and arrows.
struct Strokes {
  const char *life, *line, *right, *left, *from_left, *from_right, *event, *cross;
};
constexpr Strokes kUtf8{"│", "─", "▶", "◀", "├", "┤", "●", "┼"};
constexpr Strokes kAscii{"|", "-", ">", "<", "+", "+", "o", "+"};

struct Shown {
  ReadEvent event;
  std::optional<ReadEvent> cause;
};

/// The events that are drawn, and counts of those that are not.
struct Selection {
  std::vector<LpId> columns;  ///< sorted
  std::vector<Shown> events;
  std::uint64_t without_column = 0, beyond = 0;  ///< counts of events

  bool has_column(LpId lp) const { return std::binary_search(columns.begin(), columns.end(), lp); }
};

/// start() calls have no line; the events that they sent show them.
bool is_asked_for(const ChartRequest& request, const ReadEvent& event) {
  return !event.is_start() && request.scope.contains(event.lp, event.key.time());
}

/// The LPs of the first events, and then, if there is room, the LPs that sent these events.
std::vector<LpId> choose_columns(TraceReader& reader, const ChartRequest& request,
                                 std::size_t most) {
  std::set<LpId> receivers, senders;
  std::uint64_t events = 0;
  reader.rewind();
  while (const std::optional<ReadEvent> event = reader.next()) {
    if (!is_asked_for(request, *event)) continue;
    if (receivers.size() < most) receivers.insert(event->lp);
    if (!receivers.contains(event->lp)) continue;
    if (request.scope.contains(event->key.sender(), event->key.time()))
      senders.insert(event->key.sender());
    if (++events == request.limit) break;
  }
  for (const LpId sender : senders)
    if (receivers.size() < most) receivers.insert(sender);
  return {receivers.begin(), receivers.end()};
}

Selection select(TraceReader& reader, const ChartRequest& request, std::size_t most_columns) {
  Selection selection;
  selection.columns = choose_columns(reader, request, most_columns);
  reader.rewind();
  while (const std::optional<ReadEvent> event = reader.next()) {
    if (!is_asked_for(request, *event)) continue;
    if (!selection.has_column(event->lp)) {
      ++selection.without_column;
    } else if (selection.events.size() < request.limit) {
      selection.events.push_back({*event, std::nullopt});
    } else {
      ++selection.beyond;
    }
  }
  return selection;
}

/// Reads the file a second time for the events that sent the shown ones.
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
  Chart(const Selection& selection, const TraceReader& reader, const Terminal& terminal)
      : columns_(selection.columns),
        reader_(reader),
        tick_seconds_(reader.facts().tick_seconds),
        strokes_(terminal.utf8 ? kUtf8 : kAscii) {
    std::size_t longest = kMostColumn;
    const NamedLps lps = reader.lps();
    for (const LpId lp : columns_) {
      const std::string name = lps.name_of(lp);
      headings_.push_back(name.empty() ? fmt::format("LP {}", lp) : name);
      longest = std::clamp(display_width(headings_.back()) + 1, longest, kMostNamedColumn);
    }
    for (const Shown& one : selection.events)
      time_width_ = std::max(time_width_, time_of(one.event).size());
    if (!columns_.empty())
      column_width_ = std::clamp(room(terminal) / columns_.size(), kLeastColumn, longest);
  }

  static std::size_t most_columns(const Terminal& terminal) {
    return std::max<std::size_t>(room(terminal) / kLeastColumn, 2);
  }

  std::string heading() const {
    std::string text = fmt::format("{:>{}}  ", "time", time_width_);
    for (const std::string& one : headings_) {
      const std::string shown = end_of(one, column_width_ - 1);
      text += shown + std::string(column_width_ - display_width(shown), ' ');
    }
    return text;
  }

  std::string line(const Shown& shown) {
    const auto to = column_of(shown.event.lp);
    const std::string time = time_of(shown.event);
    std::string text =
        fmt::format("{:>{}}  ", std::exchange(last_time_, time) == time ? "" : time, time_width_);
    const auto from = column_of(shown.event.key.sender());
    return text + strokes(from.value_or(*to), *to) + description(shown);
  }

 private:
  /// Columns of the terminal for lifelines.
  static std::size_t room(const Terminal& terminal) {
    const std::size_t width = terminal.width == 0 ? kUsualWidth : terminal.width;
    return width - std::min<std::size_t>(width, kTimeWidth + kTextWidth);
  }
  /// A name that is too long keeps its end, where names differ.
  static std::string end_of(const std::string& name, std::size_t width) {
    if (display_width(name) <= width) return name;
    std::size_t begin = 0;
    while (display_width(std::string_view(name).substr(begin)) >= width) do
        ++begin;
      while ((static_cast<unsigned char>(name[begin]) & 0xc0) == 0x80);
    return "~" + name.substr(begin);
  }
  std::string time_of(const ReadEvent& event) const {
    return duration_text(event.key.time() - Time::zero(), tick_seconds_);
  }
  std::optional<std::size_t> column_of(LpId lp) const {
    const auto found = std::lower_bound(columns_.begin(), columns_.end(), lp);
    if (found == columns_.end() || *found != lp) return std::nullopt;
    return static_cast<std::size_t>(found - columns_.begin());
  }

  /// The lifelines, with the arrow drawn across those between sender and receiver.
  std::string strokes(std::size_t from, std::size_t to) const {
    const std::size_t first = std::min(from, to), last = std::max(from, to);
    std::string text;
    for (std::size_t column = 0; column < columns_.size(); ++column) {
      if (column == to)
        text += strokes_.event;
      else if (column == from)
        text += from < to ? strokes_.from_left : strokes_.from_right;
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
    if (!column_of(event.key.sender())) text += " from " + reader_.lp_text(event.key.sender());
    if (shown.cause)
      text += shown.cause->is_start() ? ", sent at the start"
                                      : fmt::format(", sent at {}", time_of(*shown.cause));
    return text;
  }

  const std::vector<LpId>& columns_;
  std::vector<std::string> headings_;
  const TraceReader& reader_;
  const double tick_seconds_;
  const Strokes& strokes_;
  std::size_t time_width_ = 4, column_width_ = kLeastColumn;
  std::string last_time_;
};

}  // namespace

std::string draw_chart(TraceReader& reader, const ChartRequest& request, const Terminal& terminal,
                       const std::function<void(const std::string&)>& line) {
  Selection selection = select(reader, request, Chart::most_columns(terminal));
  if (selection.events.empty()) return "no event of the trace is of these LPs and times";
  find_causes(reader, selection);
  Chart chart(selection, reader, terminal);
  line(chart.heading());
  for (const Shown& one : selection.events) line(chart.line(one));
  std::string note;
  if (selection.beyond > 0)
    note = fmt::format("{} more events of these LPs follow (--from, --limit)",
                       grouped(selection.beyond));
  if (selection.without_column > 0)
    note += fmt::format("{}{} events are of LPs for which there is no column (--lps)",
                        note.empty() ? "" : "; ", grouped(selection.without_column));
  return note;
}

}  // namespace orrery::trace
