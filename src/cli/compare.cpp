// SPDX-License-Identifier: Apache-2.0
//
// orrery compare MODEL: runs one model with several engines and worker counts in turn, and checks
// that their results agree.
//
// Every run is a process of its own, `orrery run ... --json` of this same command. So the peak
// memory belongs to one run, no run inherits another's warm heap, and compare measures what a user
// gets. The runs alternate (A B C A B C), so that a machine that slows down slows all of them.
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "cli/command.h"
#include "cli/rank_session.h"
#include "cli/run_request.h"
#include "cli/standard_output.h"
#include "core/descriptor.h"
#include "core/median.h"
#include "core/process.h"
#include "orrery/error.h"
#include "output/number_text.h"
#include "output/output_folder.h"
#include "output/status_line.h"
#include "output/text_table.h"
#include "run/options/model_checks.h"
#include "run/options/option_forms.h"
#include "run/options/retired_option.h"
#include "run/results/metric_options.h"

namespace orrery::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kBaseline = "sequential";

struct CompareRequest : RunRequest, OutputRequest {
  std::string engines, repeats;
  std::string workers;  ///< a list
};

/// One line of the table.
struct Contender {
  const EngineInfo* engine;
  std::string workers;  // empty: the engine's own choice
  std::vector<Json> reports;
};

struct Spread {
  double median = 0, share = 0;  // share: (highest - lowest) / median
};

Spread spread_of(std::vector<double> values) {
  const auto [lowest, highest] = std::ranges::minmax(values);
  const double median = median_of(values);
  return {median, median > 0 ? (highest - lowest) / median : 0};
}

std::vector<const EngineInfo*> chosen_engines(const CompareRequest& request) {
  std::vector<const EngineInfo*> chosen;
  at_key(request, "engines", "", [&] {
    for (const std::string& name : option_forms::read_list("--engines", request.engines))
      chosen.push_back(&find_engine(name));
  });
  if (!chosen.empty()) return chosen;
  for (const EngineInfo& info : engines())
    if (info.use == EngineUse::results) chosen.push_back(&info);
  return chosen;
}

/// Every engine with every worker count; only once if the engine always has one worker.
std::vector<Contender> contenders(const std::vector<const EngineInfo*>& chosen,
                                  const CompareRequest& request) {
  const OptionBase& workers = workers_option();
  std::vector<std::string> counts =
      option_forms::read_list(workers_option().flag(), request.workers);
  if (counts.empty()) counts.emplace_back();
  std::vector<Contender> all;
  for (const EngineInfo* engine : chosen) {
    if (!engine->honours(workers)) {
      all.push_back({engine, "", {}});
      continue;
    }
    for (const std::string& count : counts) all.push_back({engine, count, {}});
  }
  return all;
}

/// Removes the engines that cannot run this model, and returns the reasons. Throws UsageError if
/// the user named such an engine.
std::vector<std::string> leave_out(const CompareRequest& request, Model& model, RunOptions& options,
                                   std::vector<const EngineInfo*>& chosen) {
  prepare_model(model, options.seed);
  apply_metric_options(model, options);
  std::vector<std::string> notes;
  std::erase_if(chosen, [&](const EngineInfo* engine) {
    const std::string why = engine->make()->refusal(model, options);
    if (why.empty()) return false;
    if (!request.engines.empty()) throw UsageError(refusal_sentence(*engine, why));
    notes.push_back(fmt::format("engine {} is left out: {}", engine->name, why));
    return true;
  });
  return notes;
}

/// Refuses, before the first run, options that a run would refuse and options that no run would
/// use. Returns notes on engines that are left out.
std::vector<std::string> check_arguments(const CompareRequest& request,
                                         std::vector<const EngineInfo*>& chosen) {
  const ChosenModel model = choose_model(request);
  RunOptions options = read_options(request, *model.model);
  for (const std::string& count :
       option_forms::read_list(workers_option().flag(), request.workers)) {
    RunOptions one;
    workers_option().read(count, model.model->tick_seconds(), one);
    options.workers = std::max(options.workers, one.workers);
  }
  OptionList useless = unused_options(*chosen.front(), options);
  std::erase_if(useless, as_retired);
  std::vector<std::string> names;
  for (const EngineInfo* engine : chosen) {
    std::erase_if(useless, [&](const OptionBase* option) { return engine->honours(*option); });
    names.push_back(engine->name);
  }
  if (useless.empty()) return leave_out(request, *model.model, options, chosen);
  const std::string who = names.size() == 1
                              ? fmt::format("engine {} does not use", names[0])
                              : fmt::format("none of the engines {} uses", listed(names));
  throw UsageError(fmt::format("{} {}; leave {} away", who, flags_text(useless),
                               useless.size() == 1 ? "it" : "them"));
}

/// The command line of one contender, without options that its engine does not use.
std::vector<std::string> command_line(const CompareRequest& request, const Contender& contender) {
  std::vector<std::string> words = {
      "orrery", "run", request.model, "--engine", contender.engine->name, "--json", "--quiet"};
  for (const std::string& set : effective_sets(request)) words.insert(words.end(), {"--set", set});
  const auto add = [&](const OptionBase& option, const std::string& text) {
    if (!text.empty() && contender.engine->honours(option))
      words.push_back(option.flag() + "=" + text);
  };
  add(workers_option(), contender.workers);
  for (const OptionBase* option : all_options()) add(*option, request.text(*option));
  return words;
}

/// Starts the command with its standard output in a pipe; `output` becomes the pipe's read end.
/// Ctrl-C reaches both processes: the child ends in order; this process ignores the signal and
/// waits for the child.
pid_t start(std::vector<std::string> words, int& output) try {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
  const Descriptor far(ends[1]);
  output = ends[0];
  return start_process({.words = std::move(words),
                        .descriptors = {{far.get(), STDOUT_FILENO}},
                        .default_signals = {SIGINT}});
} catch (const std::system_error& error) {
  throw UsageError(fmt::format("cannot start a run of its own: {}", error.code().message()));
}

std::string read_all(int descriptor) {
  std::string text;
  char buffer[65536];
  for (;;) {
    const ssize_t n = read(descriptor, buffer, sizeof buffer);
    if (n > 0)
      text.append(buffer, static_cast<std::size_t>(n));
    else if (n == 0 || errno != EINTR)
      break;
  }
  close(descriptor);
  return text;
}

struct Outcome {
  int code = 0;
  Json report;
};

Outcome run_once(const CompareRequest& request, const Contender& contender) {
  int output = -1;
  const pid_t child = start(command_line(request, contender), output);
  const std::string text = read_all(output);
  const int status = wait_for_process(child);
  if (WIFSIGNALED(status)) {
    fmt::print(stderr, "orrery: the run on {} {}\n", contender.engine->name, end_text(status));
    return {exit_code_of(status), {}};
  }
  Outcome outcome{exit_code_of(status), Json::parse(text, nullptr, false)};
  if (outcome.code == 0 && !outcome.report.is_object())
    throw std::runtime_error("a run printed no report");
  return outcome;
}

std::string title(const Contender& contender) {
  if (contender.workers.empty()) return contender.engine->name;
  return fmt::format("{} with {} worker{}", contender.engine->name, contender.workers,
                     contender.workers == "1" ? "" : "s");
}

/// Executes all runs, in turn. Returns the exit code of the first run that failed, else 0.
int run_all(const CompareRequest& request, std::vector<Contender>& all, std::uint64_t repeats) {
  StatusLine status;
  std::uint64_t number = 0;
  for (std::uint64_t repeat = 0; repeat < repeats; ++repeat) {
    for (Contender& contender : all) {
      ++number;
      if (!request.quiet)
        status.show(
            fmt::format("run {} of {}: {}", number, repeats * all.size(), title(contender)));
      Outcome outcome = run_once(request, contender);
      if (outcome.code != 0) return outcome.code;
      contender.reports.push_back(std::move(outcome.report));
    }
  }
  return kExitOk;
}

Spread measure(const Contender& contender, const char* field) {
  std::vector<double> values;
  for (const Json& report : contender.reports) values.push_back(report["run"][field]);
  return spread_of(std::move(values));
}

std::set<std::string> fingerprints(const Contender& contender) {
  std::set<std::string> all;
  for (const Json& report : contender.reports) all.insert(report["run"]["fingerprint"]);
  return all;
}

double baseline_rate(const std::vector<Contender>& all) {
  for (const Contender& contender : all)
    if (contender.engine->name == kBaseline) return measure(contender, "events_per_second").median;
  return 0;
}

/// Null: the engine chose the number.
Json asked_workers(const Contender& contender) {
  const Json number = Json::parse(contender.workers, nullptr, false);
  return number.is_number_unsigned() ? number : Json();
}

std::string asked_text(const Json& workers) {
  return workers.is_null() ? "any" : std::to_string(workers.get<unsigned>());
}

Json rows_json(const std::vector<Contender>& all) {
  Json rows = Json::array();
  const double baseline = baseline_rate(all);
  for (const Contender& contender : all) {
    const Spread rate = measure(contender, "events_per_second");
    Json row = {{"engine", contender.engine->name},
                {"workers_asked", asked_workers(contender)},
                {"workers", contender.reports.front()["run"]["workers"]},
                {"events_per_second", rate.median},
                {"spread", rate.share},
                {"efficiency", measure(contender, "efficiency").median}};
    if (baseline > 0) row["speed_up"] = rate.median / baseline;
    row["loop_seconds"] = Json::array();
    for (const Json& report : contender.reports)
      row["loop_seconds"].push_back(report["run"]["seconds"]["loop"]);
    row["peak_rss_bytes"] = measure(contender, "peak_rss_bytes").median;
    row["fingerprints"] = fingerprints(contender);
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string comparison_json(const std::vector<Contender>& all, bool equal,
                            const std::vector<std::string>& left_out) {
  const Json& first = all.front().reports.front();
  Json json = {{"schema", 1},
               {"orrery", first["orrery"]},
               {"started", first["started"]},
               {"model", first["model"]},
               {"parameters", first["parameters"]},
               {"host", first["host"]},
               {"seed", first["options"]["seed"]},
               {"until", first["options"]["until"]},
               {"until_ticks", first["options"]["until_ticks"]},
               {"repeats", all.front().reports.size()},
               {"fingerprints_equal", equal},
               {"notes", left_out},
               {"rows", rows_json(all)}};
  Json reports = Json::array();
  for (const Contender& contender : all)
    for (const Json& report : contender.reports) reports.push_back(report);
  json["reports"] = std::move(reports);
  return json.dump(2) + "\n";
}

void print_table(const std::vector<Contender>& all, bool equal, const Terminal& terminal) {
  using Align = TextTable::Align;
  const Json rows = rows_json(all);
  const bool some_asked_for_more = std::any_of(rows.begin(), rows.end(), [](const Json& row) {
    return !row["workers_asked"].is_null() && row["workers_asked"] != row["workers"];
  });
  TextTable table({{"engine"},
                   {"asked", Align::right},
                   {some_asked_for_more ? "used" : "workers", Align::right},
                   {"committed/s", Align::right},
                   {"spread", Align::right},
                   {"efficiency", Align::right},
                   {"speed-up", Align::right},
                   {"memory", Align::right},
                   {"fingerprint"}});
  for (const Json& row : rows) {
    const std::vector<std::string> prints = row["fingerprints"];
    // A fingerprint that is the same for all needs no column; the line below the table shows it.
    const std::string shown = equal ? "" : fmt::format("0x{}", fmt::join(prints, " 0x"));
    table.add(
        {row["engine"], some_asked_for_more ? asked_text(row["workers_asked"]) : "",
         std::to_string(row["workers"].get<unsigned>()), short_number(row["events_per_second"]),
         percent_text(row["spread"]), percent_text(row["efficiency"]),
         row.contains("speed_up") ? fmt::format("{:.2f}", row["speed_up"].get<double>()) : "-",
         bytes_text(row["peak_rss_bytes"]), shown});
  }
  const Json& first = all.front().reports.front();
  const std::size_t repeats = all.front().reports.size();
  print_out("{} until {}, seed {}, median of {} run{}\n\n{}",
            terminal.bold(first["model"]["name"].get<std::string>()),
            first["options"]["until"].get<std::string>(),
            first["options"]["seed"].get<std::uint64_t>(), repeats, repeats == 1 ? "" : "s",
            table.text(terminal));
}

/// The notes that all runs have in common, mostly on the input. Other notes are in the reports.
std::vector<std::string> common_notes(const std::vector<Contender>& all) {
  std::vector<std::string> common = all.front().reports.front()["notes"];
  for (const Contender& contender : all) {
    for (const Json& report : contender.reports) {
      const std::vector<std::string> notes = report["notes"];
      std::erase_if(common, [&](const std::string& note) {
        return std::find(notes.begin(), notes.end(), note) == notes.end();
      });
    }
  }
  return common;
}

int judge(const std::vector<Contender>& all, bool equal) {
  if (equal) return kExitOk;
  std::string text;
  for (const Contender& contender : all)
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", title(contender),
                        fmt::join(fingerprints(contender), " and "));
  std::fflush(stdout);
  fmt::print(
      stderr,
      "orrery: the fingerprints differ ({}): the model depends on something that is not part "
      "of its LPs' state, or an engine is wrong\n",
      text);
  return kExitMismatch;
}

constexpr Entry kCompareFiles[] = {
    {"DIR/compare.json", "The table and the reports of all runs."},
};

constexpr CommandText kCompareText = {
    .name = "compare",
    .summary = "Run a model on several engines and compare",
    .operands = "MODEL [OPTIONS]",
    .prose =
        R"(The runs of all combinations alternate, --repeats times, each in a process of its own. The table shows
medians, and the spread as (highest - lowest) / median. Speed-ups are relative to the sequential engine.)",
    .examples = R"(orrery compare phold --workers 1,2
orrery compare traffic --engines sequential,timewarp --workers 1,2,4 --repeats 5 --out results/cmp)",
    .files = kCompareFiles};

class CompareCommand final : public Command {
 public:
  CompareCommand() : Command(kCompareText) {}

  void declare(OptionTable& options) override {
    declare_model(options, request_);
    options.value("--engines", request_.engines, "ENGINE,...", "Engines to compare (all)");
    options.value(workers_option().flag(), request_.workers, "N,...",
                  "Numbers of threads (" + workers_option().default_text() + ")");
    options.value("--repeats", request_.repeats, "N", "Runs of each (3)");
    declare_run_options(options, request_, &workers_option());
    declare_set(options, request_);
    declare_config(options, request_);
    declare_output(options, request_);
  }

  int run(OptionTable& options, const Invocation&) override {
    refuse_mpi_launcher("orrery compare");
    complete_request(options, request_, "compare");
    require_standard_output();
    const std::uint64_t repeats =
        request_.repeats.empty() ? 3
                                 : option_forms::read_count("--repeats", request_.repeats, 1, 1000);
    std::vector<const EngineInfo*> chosen = chosen_engines(request_);
    const std::vector<std::string> left_out = check_arguments(request_, chosen);
    std::vector<Contender> all = contenders(chosen, request_);
    std::optional<OutputFolder> folder;
    if (!request_.out.empty()) folder.emplace(request_.out, kComparisonName, request_.force);

    std::signal(SIGINT, SIG_IGN);
    const int code = run_all(request_, all, repeats);
    std::signal(SIGINT, SIG_DFL);
    if (code != kExitOk) return code;

    std::set<std::string> prints;
    for (const Contender& contender : all) prints.merge(fingerprints(contender));
    const bool equal = prints.size() == 1;
    const std::string json = comparison_json(all, equal, left_out);
    if (folder) folder->publish(json);
    if (request_.json) {
      print_out("{}", json);
    } else {
      print_table(all, equal, Terminal::of(STDOUT_FILENO));
      if (equal) print_out("\nAll fingerprints are equal: 0x{}\n", *prints.begin());
      for (const std::string& note : left_out) print_out("\nnote: {}\n", note);
      for (const std::string& note : common_notes(all)) print_out("\nnote: {}\n", note);
      if (folder) print_out("\nresults in {}: {}\n", request_.out, kComparisonName);
    }
    return judge(all, equal);
  }

 private:
  CompareRequest request_;
};

const CommandEntry kCompareEntry(8, make_command<CompareCommand>);

}  // namespace
}  // namespace orrery::cli
