// SPDX-License-Identifier: Apache-2.0
//
// orrery trace info FILE, show FILE and diff A B: the contents of a trace, a part of a trace as a
// sequence chart, and the first difference between the committed events of two runs.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "cli/command.h"
#include "cli/standard_output.h"
#include "core/duration_text.h"
#include "orrery/error.h"
#include "output/number_text.h"
#include "output/text_table.h"
#include "run/options/lp_patterns.h"
#include "run/options/option_forms.h"
#include "trace/chart.h"
#include "trace/difference.h"
#include "trace/reader.h"

namespace orrery::cli {
namespace {

using trace::TraceReader;

struct TraceRequest {
  std::vector<std::string> words;
  std::string lps, from, to, limit;
};

std::string time_of(const TraceReader& reader, Time time) {
  return duration_text(time - Time::zero(), reader.facts().tick_seconds);
}

void show_facts(const TraceReader& reader) {
  const trace::Facts& facts = reader.facts();
  print_out("{}, {} LPs, seed {}\n", facts.model, grouped(facts.lps), facts.seed);
  for (const std::string& parameter : facts.parameters) print_out("  {}\n", parameter);
  if (!facts.scope.lps.empty()) print_out("traced LPs: {}\n", trace::text_of(facts.scope.lps));
  if (facts.scope.from > Time::zero())
    print_out("traced from {}\n", time_of(reader, facts.scope.from));
  if (facts.scope.to < Time::max()) print_out("traced to {}\n", time_of(reader, facts.scope.to));
}

int info(const TraceRequest& request) {
  TraceReader reader(request.words[1]);
  Time first, last;
  std::uint64_t events = 0, digest = 0;
  while (const std::optional<trace::ReadEvent> event = reader.next()) {
    digest = trace::add_event(digest, *event);
    if (event->is_start()) continue;
    if (events++ == 0) first = event->key.time();
    last = event->key.time();
  }
  show_facts(reader);
  print_out("{} committed events", grouped(events));
  if (events > 0) print_out(", from {} to {}", time_of(reader, first), time_of(reader, last));
  print_out("{}\n", reader.tail().whole
                        ? ""
                        : fmt::format("; the trace is whole before {}, where its size was reached",
                                      time_of(reader, reader.tail().until)));
  print_out("digest {}\n", fingerprint_text(digest));
  const trace::Life life = reader.life();
  TextTable table({{"what workers did"}, {"times", TextTable::Align::right}});
  for (const auto& [name, count] : life.slices) table.add({name, grouped(count)});
  if (!table.empty()) print_out("\n{}", table.text(Terminal::of(STDOUT_FILENO)));
  if (life.left_out > 0) print_out("\n{} records did not fit\n", grouped(life.left_out));
  return kExitOk;
}

int show(const TraceRequest& request) {
  TraceReader reader(request.words[1]);
  const double tick = reader.facts().tick_seconds;
  trace::ChartRequest chart;
  if (!request.lps.empty()) chart.scope.lps = read_lps("--lps", request.lps, reader.lps());
  chart.scope.from = trace::read_time("--from", request.from, tick, Time::zero());
  chart.scope.to = trace::read_time("--to", request.to, tick, Time::max());
  if (!request.limit.empty())
    chart.limit = option_forms::read_count("--limit", request.limit, 1, 1'000'000);
  const std::string note =
      trace::draw_chart(reader, chart, Terminal::of(STDOUT_FILENO),
                        [](const std::string& line) { print_out("{}\n", line); });
  if (!note.empty()) print_out("{}\n", note);
  return kExitOk;
}

void show_events(const std::string& heading, const std::vector<trace::ReadEvent>& events,
                 const TraceReader& reader) {
  if (events.empty()) return;
  print_out("\n{}\n", heading);
  for (const trace::ReadEvent& event : events) print_out("  {}\n", trace::text_of(event, reader));
}

/// Shows parameters and seed where the two runs differ.
void show_facts_that_differ(const TraceReader& a, const TraceReader& b) {
  if (a.facts().seed != b.facts().seed)
    print_out("A has seed {}, B seed {}\n", a.facts().seed, b.facts().seed);
  const auto &of_a = a.facts().parameters, &of_b = b.facts().parameters;  // of the same model
  for (std::size_t i = 0; i < std::min(of_a.size(), of_b.size()); ++i)
    if (of_a[i] != of_b[i]) print_out("A has {}, B {}\n", of_a[i], of_b[i]);
}

int diff(const TraceRequest& request) {
  TraceReader a(request.words[1]), b(request.words[2]);
  const trace::Comparison found = trace::compare(a, b);
  if (!found.difference) {
    print_out("the same {} committed events{}{}\n", grouped(found.equal),
              found.limit.empty() ? "" : "; ", found.limit);
    return kExitOk;
  }
  const trace::Difference& difference = *found.difference;
  print_out("A is {}, B is {}\n", a.path(), b.path());
  show_facts_that_differ(a, b);
  print_out("the same {} committed events, and then\n\n  {}\n\n{}\n", grouped(found.equal),
            trace::text_of(difference.event(), a), difference.what);
  const auto other = [&](const char* name, const std::optional<trace::ReadEvent>& event) {
    if (!event)
      print_out("  {} has no more events\n", name);
    else
      print_out("  {} goes on with {}; fingerprint {}\n", name, trace::text_of(*event, a),
                fingerprint_text(event->fingerprint));
  };
  other("A", difference.a);
  other("B", difference.b);
  if (difference.cause) show_events("its cause:", {*difference.cause}, a);
  show_events("before it at that LP, the same in both:", difference.before, a);
  return kExitMismatch;
}

constexpr CommandText kTraceText = {
    .name = "trace",
    .summary = "Show a trace, or the first difference between two traces",
    .operands = "info|show|diff FILE... [OPTIONS]",
    .prose =
        R"('orrery run --trace FILE' writes a trace, for ui.perfetto.dev. 'show' draws the committed events as a
sequence chart. 'diff' names the first committed event that differs between two runs, and ends with exit
code 1 if the runs differ.)",
    .examples = R"(orrery run traffic --trace run.pftrace --trace-to 10min
orrery trace info run.pftrace                 the contents of a trace
orrery trace show run.pftrace --lps 0..5      a sequence chart
orrery trace diff run.pftrace other.pftrace   the first committed event that differs)"};

class TraceCommand final : public Command {
 public:
  TraceCommand() : Command(kTraceText) {}

  void declare(OptionTable& options) override {
    options.operands("WORDS", request_.words, "'info', 'show' or 'diff', and traces");
    options.value("--lps", request_.lps, "LPS",
                  "show: these LPs, such as 0..3,7 or 'router*' (as many as fit)");
    options.value("--from", request_.from, "TIME",
                  "show: from this simulated time on (the first event)");
    options.value("--to", request_.to, "TIME", "show: before this simulated time (the last event)");
    options.value("--limit", request_.limit, "N", "show: largest number of events (50)");
  }

  int run(OptionTable& options, const Invocation&) override {
    const std::vector<std::string>& words = request_.words;
    const bool shows = !words.empty() && words[0] == "show";
    for (const char* flag : {"--lps", "--from", "--to", "--limit"})
      if (!shows && options.is_given(flag))
        throw UsageError(fmt::format("{} is for 'orrery trace show'", flag));
    const bool is_diff = words.size() == 3 && words[0] == "diff";
    if (!is_diff && (words.size() != 2 || (words[0] != "info" && !shows)))
      throw UsageError(
          "'orrery trace' needs 'info FILE', 'show FILE' or 'diff A B', as in 'orrery trace show "
          "run.pftrace'");
    const int code = is_diff ? diff(request_) : shows ? show(request_) : info(request_);
    flush_out();
    return code;
  }

 private:
  TraceRequest request_;
};

const CommandEntry kTraceEntry(7, make_command<TraceCommand>);

}  // namespace
}  // namespace orrery::cli
