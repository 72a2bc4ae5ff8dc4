// SPDX-License-Identifier: Apache-2.0
#include "cli/director_output.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "core/format_into.h"
#include "orrery/error.h"
#include "output/csv.h"
#include "output/number_text.h"
#include "output/text_table.h"

namespace orrery::cli {
namespace {

namespace fs = std::filesystem;
using director::Director;
using director::Figures;
using director::Nanoseconds;
using director::Orders;
using director::Sample;
using director::ThreadView;
using director::Turn;

constexpr double kNanosecond = 1e-9;

std::string ticks_text(double ticks) {
  return fmt::format("{:.2f}", ticks);
}

std::string state_of(const ThreadView& view, bool is_directed) {
  if (view.is_helper) return view.is_punished ? "helper, held back" : "helper";
  if (!view.is_runnable) return "idle";
  if (!is_directed) return "runnable";
  return view.turn == Turn::running   ? "running"
         : view.turn == Turn::standby ? "standby"
                                      : "waiting";
}

/// The process's name, followed by the thread's name if that differs.
std::string label_of(const ThreadView& view) {
  return view.name == view.process_name ? view.name : view.process_name + ": " + view.name;
}

}  // namespace

double seconds(Nanoseconds time) {
  return double(time) * kNanosecond;
}

std::string thread_table(std::vector<ThreadView> views, const Figures& figures, bool is_directed,
                         const Terminal& terminal, std::size_t most) {
  const std::size_t helpers = std::erase_if(
      views, [](const ThreadView& view) { return view.is_helper && !view.is_punished; });
  std::stable_sort(views.begin(), views.end(), [](const ThreadView& a, const ThreadView& b) {
    return std::pair(a.is_helper, a.virtual_time) < std::pair(b.is_helper, b.virtual_time);
  });
  const std::size_t left_out = most > 0 && views.size() > most ? views.size() - most : 0;
  views.resize(views.size() - left_out);
  using Align = TextTable::Align;
  TextTable table({{"thread"},
                   {"number", Align::right},
                   {"virtual time", Align::right},
                   {"consumed", Align::right},
                   {"share", Align::right},
                   {"state"}});
  for (const ThreadView& view : views) {
    if (view.is_helper) {
      table.add({label_of(view), std::to_string(view.id.thread), "", "", "", state_of(view, true)});
      continue;
    }
    const double elapsed = std::max(seconds(figures.elapsed), kNanosecond);
    table.add({label_of(view), std::to_string(view.id.thread),
               fmt::format("{:.3f} s", seconds(view.virtual_time)),
               fmt::format("{:.3f} s", seconds(view.consumed)),
               percent_text(seconds(view.consumed) / elapsed), state_of(view, is_directed)});
  }
  std::string text = table.text(terminal);
  if (left_out > 0) text += fmt::format("  and {} more\n", left_out);
  if (helpers > 0) text += fmt::format("  and {} helper{}\n", helpers, helpers == 1 ? "" : "s");
  return text;
}

std::string course_text(Director& director, const Orders& orders) {
  return fmt::format("{} for {} on {} core{}, tick {}{}\n",
                     orders.only_watch ? "watched" : "directed",
                     span_text(seconds(director.figures().elapsed)), director.cores(),
                     director.cores() == 1 ? "" : "s", span_text(seconds(orders.tick)),
                     orders.only_watch ? "" : ", ceiling " + percent_text(director.ceiling()));
}

std::string spread_text(const Figures& figures, Nanoseconds tick) {
  std::string text;
  const auto both = [&](double ticks) {
    return fmt::format("{} ticks ({})", ticks_text(ticks), span_text(ticks * seconds(tick)));
  };
  if (figures.spreads.samples() == 0)
    text = "no two threads wanted to run at the same time\n";
  else
    text = fmt::format("spread over {} samples: median {}, p99 {}, largest {}\n",
                       grouped(figures.spreads.samples()), both(figures.spreads.quantile(0.5)),
                       both(figures.spreads.quantile(0.99)), both(figures.spreads.most()));
  const auto late = [&](double ticks) { return span_text(ticks * seconds(tick)); };
  return text + fmt::format(
                    "{} ticks, {} missed; the beat was late by {} in the median, by {} in 1 % of "
                    "them, by {} at most\n",
                    grouped(figures.ticks), grouped(figures.missed_ticks),
                    late(figures.delays.quantile(0.5)), late(figures.delays.quantile(0.99)),
                    late(figures.delays.most()));
}

nlohmann::ordered_json spread_json(const director::SpreadCounts& counts) {
  return {{"samples", counts.samples()},    {"p50", counts.quantile(0.5)},
          {"p90", counts.quantile(0.9)},    {"p99", counts.quantile(0.99)},
          {"p999", counts.quantile(0.999)}, {"most", counts.most()}};
}

nlohmann::ordered_json figures_json(Director& director, const Orders& orders) {
  const Figures figures = director.figures();
  return {{"directed", !orders.only_watch},
          {"cores", director.cores()},
          {"tick_seconds", seconds(orders.tick)},
          {"ceiling", orders.only_watch ? 1 : director.ceiling()},
          {"seconds", seconds(figures.elapsed)},
          {"ticks", figures.ticks},
          {"missed_ticks", figures.missed_ticks},
          {"lost_samples", director.samples().lost()},
          {"spread_ticks", spread_json(figures.spreads)},
          {"delay_ticks", spread_json(figures.delays)}};
}

std::string json_text(const nlohmann::ordered_json& json) {
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

// --- the table on the terminal
// -----------------------------------------------------------------------------

LiveTable::LiveTable(bool quiet) : terminal_(Terminal::of(STDERR_FILENO)) {
  shown_ = !quiet && terminal_.interactive;
}

void LiveTable::draw(const std::function<std::string(const Terminal&, std::size_t)>& table) {
  if (!shown_) return;
  winsize size{};
  ioctl(STDERR_FILENO, TIOCGWINSZ, &size);
  const std::string text = table(terminal_, size.ws_row > 8 ? size.ws_row - 6U : 2U);
  fmt::print(stderr, "{}{}", erase_text(), text);
  std::fflush(stderr);
  lines_ = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

void LiveTable::erase() {
  if (lines_ == 0) return;
  fmt::print(stderr, "{}", erase_text());
  std::fflush(stderr);
  lines_ = 0;
}

std::string LiveTable::erase_text() const {
  return lines_ == 0 ? "" : fmt::format("\x1b[{}A\r\x1b[J", lines_);
}

/// Short, since a line that the terminal wraps could not be erased.
std::string short_spread_text(const Figures& figures) {
  if (figures.spreads.samples() == 0) return "";
  return fmt::format(
      "spread in ticks: median {}, p99 {}, largest {}\n", ticks_text(figures.spreads.quantile(0.5)),
      ticks_text(figures.spreads.quantile(0.99)), ticks_text(figures.spreads.most()));
}

// --- the samples
// ------------------------------------------------------------------------------------------

SampleFile::SampleFile(const std::string& path, bool force) : path_(path) {
  std::error_code unknown;
  if (path.empty()) return;
  if (!force && fs::exists(path, unknown))
    throw UsageError(fmt::format("'{}' is there already; replace it with --force", path));
  file_.emplace(temporary());
  file_->write("time_s,thread,name,virtual_s,consumed_s,state\n");
}

SampleFile::~SampleFile() {
  if (file_) std::remove(temporary().c_str());
}

void SampleFile::take(Director& director) {
  if (!file_) return;
  for (const ThreadView& view : director.views())
    if (!view.is_helper)
      columns_[view.number] = fmt::format("{},{}", view.id.thread, csv_text(label_of(view)));
  director.samples().take_all([this](const Sample& sample) { write(sample); });
}

void SampleFile::publish(Director& director) {
  if (!file_) return;
  take(director);
  file_->finish();
  std::error_code error;
  fs::rename(temporary(), path_, error);
  if (error) throw UsageError(fmt::format("'{}' cannot be written: {}", path_, error.message()));
  file_.reset();
  if (director.samples().lost() > 0)
    fmt::print(stderr, "orrery: {} samples are not in '{}', which could not be written as fast\n",
               grouped(director.samples().lost()), path_);
}

void SampleFile::write(const Sample& sample) {
  const auto found = columns_.find(sample.thread);
  const char* const state = !sample.is_runnable            ? "idle"
                            : sample.turn == Turn::running ? "running"
                            : sample.turn == Turn::standby ? "standby"
                                                           : "waiting";
  append_format(file_->buffer(), "{:.9f},{},{:.9f},{:.9f},{}\n", seconds(sample.at),
                found == columns_.end() ? "," : found->second, seconds(sample.virtual_time),
                seconds(sample.consumed), state);
  file_->write("");
}

}  // namespace orrery::cli
