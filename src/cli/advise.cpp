// SPDX-License-Identifier: Apache-2.0
//
// orrery advise MODEL: recommends how and where to run a model, from short runs of the model and a
// table of machines. Turns options into a measurement (advise/measurement.h), and shows and writes
// the advice.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "advise/advice.h"
#include "cli/command.h"
#include "cli/rank_session.h"
#include "cli/run_request.h"
#include "cli/standard_output.h"
#include "cli/temporary_folder.h"
#include "core/duration_text.h"
#include "core/model_registry.h"
#include "orrery/error.h"
#include "output/host.h"
#include "output/number_text.h"
#include "output/output_folder.h"
#include "run/options/option_forms.h"
#include "run/results/metric_options.h"

namespace orrery::cli {
namespace {

using advise::Configuration;
using advise::Measurement;

struct AdviseRequest : RunRequest, OutputRequest {
  bool calibrate = false;
  std::string engines, workers, rank_counts;  ///< lists
  std::string budget, machines, time_limit, price_limit;
  std::vector<std::string> pilot;   ///< "name=value"
  std::vector<std::string> trials;  ///< "option=value,..."
};

constexpr double kDefaultBudgetSeconds = 60;
constexpr std::uint64_t kMostExecutors = 1024;
constexpr std::size_t kMostCandidates = 64;
constexpr unsigned kCalibrationRuns = 7;
constexpr const char* kAdviceName = "advise.json";
constexpr const char* kChooser = "auto";         // not measured: it changes between engines
constexpr const char* kOptimistic = "timewarp";  // its single worker has costs of several

double read_wall_time(const std::string& flag, const std::string& text) {
  constexpr double kTick = 1e-9;
  const std::optional<Duration> time = parse_duration(text, kTick);
  if (!time || *time <= Duration::zero())
    throw UsageError(fmt::format("{} cannot be '{}': a time above 0 is expected, such as 30s or 2h",
                                 flag, text));
  return static_cast<double>(time->ticks()) * kTick;
}

double read_price(const std::string& text) {
  char* end = nullptr;
  const double price = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || *end != '\0' || !std::isfinite(price) || price < 0)
    throw UsageError(fmt::format(
        "--price-limit cannot be '{}': a number from 0 on is expected, in the table's currency",
        text));
  return price;
}

// --- configurations ----------------------------------------------------------------------------

std::vector<const EngineInfo*> chosen_engines(const AdviseRequest& request) {
  std::vector<const EngineInfo*> chosen;
  at_key(request, "engines", "", [&] {
    for (const std::string& name : option_forms::read_list("--engines", request.engines))
      chosen.push_back(&find_engine(name));
  });
  if (!chosen.empty()) return chosen;
  for (const EngineInfo& info : engines())
    if (info.use == EngineUse::results && info.name != kChooser) chosen.push_back(&info);
  return chosen;
}

std::vector<unsigned> read_counts(const std::string& flag, const std::string& text) {
  std::vector<unsigned> counts;
  for (const std::string& one : option_forms::read_list(flag, text))
    counts.push_back(static_cast<unsigned>(option_forms::read_count(flag, one, 1, kMostExecutors)));
  return counts;
}

/// Powers of two, and all cores.
std::vector<unsigned> usual_counts(unsigned cores) {
  std::vector<unsigned> counts;
  for (unsigned count = 1; count < cores; count *= 2) counts.push_back(count);
  counts.push_back(cores);
  return counts;
}

/// Configurations with each number of workers in one process, and with each number of ranks of one
/// worker.
std::vector<Configuration> shapes_of(const EngineInfo& engine, const AdviseRequest& request,
                                     unsigned cores) {
  Configuration bare;
  bare.engine = engine.name;
  if (!engine.honours(workers_option())) return {bare};
  std::vector<Configuration> shapes;
  std::vector<unsigned> workers = read_counts("--workers", request.workers);
  if (workers.empty()) {
    workers = usual_counts(cores);
    // One worker that never rolls back does what the sequential engine does.
    if (engine.name != kOptimistic && cores > 1) workers.erase(workers.begin());
  }
  for (const unsigned count : workers) {
    bare.workers = count;
    shapes.push_back(bare);
  }
  std::vector<unsigned> ranks = read_counts("--ranks", request.rank_counts);
  if (ranks.empty()) ranks = {cores};
  if (!engine.make()->spans_ranks()) return shapes;
  const std::vector<unsigned> each = request.workers.empty() ? std::vector<unsigned>{1} : workers;
  for (const unsigned count : ranks) {
    if (count < 2) continue;
    for (const unsigned each_has : each) {
      Configuration spread = bare;
      spread.ranks = count;
      spread.workers = each_has;
      shapes.push_back(spread);
    }
  }
  return shapes;
}

struct Trial {
  const OptionBase* option;
  std::vector<std::string> values;
};

/// `--try checkpoint=copy,incremental`: an option of runs, with values.
std::vector<Trial> read_trials(const AdviseRequest& request, const Model& model) {
  std::vector<Trial> trials;
  for (const std::string& text : request.trials) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
      throw UsageError(fmt::format(
          "--try needs OPTION=VALUE,... such as checkpoint=copy,incremental, not '{}'", text));
    const std::string name = text.substr(0, equals);
    std::vector<std::string> names;
    const OptionBase* found = nullptr;
    for (const OptionBase* option : all_options()) {
      if (!option->takes_value() || option == &workers_option()) continue;
      names.push_back(option->name());
      if (option->name() == name) found = option;
    }
    if (found == nullptr)
      throw UsageError(fmt::format("--try names '{}', which is no option of runs that has values{}",
                                   name, near_matches(name, names)));
    Trial trial{found, option_forms::read_list("--try", text.substr(equals + 1))};
    for (const std::string& value : trial.values) {
      RunOptions unused;
      found->read(value, model.tick_seconds(), unused);
    }
    trials.push_back(std::move(trial));
  }
  return trials;
}

/// Each configuration alone and with each trial option.
std::vector<Configuration> candidates_of(const AdviseRequest& request, const Model& model,
                                         unsigned cores) {
  const std::vector<Trial> trials = read_trials(request, model);
  std::vector<Configuration> all;
  for (const EngineInfo* engine : chosen_engines(request)) {
    std::vector<Configuration> own = shapes_of(*engine, request, cores);
    for (const Trial& trial : trials) {
      if (!engine->honours(*trial.option)) continue;
      const std::vector<Configuration> before = own;
      for (const std::string& value : trial.values)
        for (Configuration changed : before) {
          changed.options.push_back(trial.option->flag() + "=" + value);
          own.push_back(std::move(changed));
        }
    }
    all.insert(all.end(), own.begin(), own.end());
  }
  if (all.size() > kMostCandidates)
    throw UsageError(fmt::format(
        "{} configurations are more than the {} that can be measured; name fewer with --engines, "
        "--workers, --ranks or --try",
        all.size(), kMostCandidates));
  return all;
}

// --- the question ------------------------------------------------------------------------------

void refuse_what_has_no_length(const AdviseRequest& request) {
  for (const OptionBase* option : all_options()) {
    if (request.text(*option).empty()) continue;
    const bool ends_early = option == &stop_when_option() || option == &stop_check_option();
    if (ends_early)
      throw UsageError(
          fmt::format("'orrery advise' does not take {}: how far such a run goes is "
                      "not known before it; give it the --until that you expect",
                      option->flag()));
    if (option->name() == "write-partition")
      throw UsageError("'orrery advise' does not take --write-partition: its runs are many");
  }
}

/// The options of a run as words.
std::vector<std::string> option_words(const AdviseRequest& request, bool of_a_fork) {
  const OptionList observations = metric_options();
  std::vector<std::string> words;
  for (const OptionBase* option : all_options()) {
    const std::string text = request.text(*option);
    if (text.empty() || option == &workers_option()) continue;
    const bool stays =
        option == &seed_option() || option->name() == "until" || option->name() == "livelock" ||
        std::find(observations.begin(), observations.end(), option) != observations.end();
    if (of_a_fork && stays) continue;
    words.push_back(option->takes_value() ? option->flag() + "=" + text : option->flag());
  }
  return words;
}

std::vector<std::string> run_words(const AdviseRequest& request,
                                   const std::vector<std::string>& sets) {
  std::vector<std::string> words = {"run", request.model};
  for (const std::string& set : sets) words.insert(words.end(), {"--set", set});
  const std::vector<std::string> options = option_words(request, false);
  words.insert(words.end(), options.begin(), options.end());
  return words;
}

/// The pilot's parameters: those of the run, replaced by those given for the pilot.
std::vector<std::string> pilot_sets(const AdviseRequest& request) {
  RunRequest pilot;
  pilot.model = request.model;
  pilot.file_sets = effective_sets(request);
  pilot.sets = request.pilot;
  try {
    settings_of(pilot.sets);
    choose_model(pilot);
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("--pilot: {}", error.what()));
  }
  return effective_sets(pilot);
}

struct Prepared {
  advise::Question question;
  advise::MachineTable table;
  advise::Limits limits;
};

Prepared prepare(const AdviseRequest& request) {
  Prepared prepared;
  advise::Question& question = prepared.question;
  refuse_what_has_no_length(request);
  const ChosenModel model = choose_model(request);
  read_options(request, *model.model);
  question.cores = HostFacts::now().usable_cores;
  question.run_words = run_words(request, effective_sets(request));
  question.fork_words = option_words(request, true);
  if (!request.pilot.empty()) question.pilot_words = run_words(request, pilot_sets(request));
  question.candidates = candidates_of(request, *model.model, question.cores);
  if (!request.budget.empty())
    question.budget_seconds = read_wall_time("--budget", request.budget);
  else
    question.budget_seconds = kDefaultBudgetSeconds;
  question.quiet = request.quiet;
  if (!request.machines.empty()) prepared.table = advise::read_machines(request.machines);
  question.wants_speed = !request.machines.empty();
  if (!request.time_limit.empty())
    prepared.limits.seconds = read_wall_time("--time-limit", request.time_limit);
  if (!request.price_limit.empty()) prepared.limits.price = read_price(request.price_limit);
  return prepared;
}

// --- the answer --------------------------------------------------------------------------------

/// Returns the names of the files.
std::vector<std::string> write_files(const advise::Advice& advice, OutputFolder& folder) {
  for (const study::PlainTable& table : advise::advice_tables(advice))
    folder.add(table.name + ".csv", study::csv_of(table));
  folder.add("time-cost.svg", advise::advice_picture(advice));
  nlohmann::ordered_json json = advise::advice_json(advice);
  const std::vector<std::string> names = folder.names();
  json["files"] = names;
  folder.publish(json.dump(2) + "\n");
  return names;
}

std::string refusals(const advise::Findings& found) {
  std::string text = "no configuration could be measured";
  for (const advise::Measured& one : found.measured)
    if (!one.refusal.empty())
      text += fmt::format("; {}: {}", one.configuration.name(), one.refusal);
  return text;
}

int answer(const AdviseRequest& request, const Prepared& prepared, advise::Findings found,
           std::optional<OutputFolder>& folder) {
  const int signal = found.signal;
  const std::string nothing = refusals(found);
  std::optional<advise::Advice> advice = advise::make_advice(
      std::move(found), prepared.table.machines, prepared.limits, prepared.question.cores);
  if (!advice) return refuse(signal != 0 ? kExitSignal + signal : kExitUsage, nothing);
  advice->model = request.model;
  advice->run_command = prepared.question.run_words;
  advice->currency = prepared.table.currency;
  std::vector<std::string> files;
  if (folder) files = write_files(*advice, *folder);
  if (request.json) {
    print_out("{}\n", advise::advice_json(*advice).dump(2));
  } else {
    print_out("{}", advise::advice_text(*advice, Terminal::of(STDOUT_FILENO)));
    if (folder)
      print_out("\nresults in {}: {} {}\n", request.out, fmt::join(files, " "), kAdviceName);
  }
  if (signal == 0) return kExitOk;
  return refuse(kExitSignal + signal, "interrupted: these are the results so far");
}

int advise_on(const AdviseRequest& request) {
  const Prepared prepared = prepare(request);
  std::optional<OutputFolder> folder;
  if (!request.out.empty()) folder.emplace(request.out, kAdviceName, request.force);
  const TemporaryFolder runs("orrery-advise");
  try {
    Measurement measurement(prepared.question, runs.path());
    return answer(request, prepared, measurement.carry_out(), folder);
  } catch (const Measurement::Failed& failed) {
    return refuse(failed.code, failed.sentence);
  } catch (const Measurement::Interrupted& interrupted) {
    return refuse(kExitSignal + interrupted.signal, "interrupted: there are no results yet");
  }
}

int calibrate(const AdviseRequest& request) {
  const TemporaryFolder runs("orrery-advise");
  advise::Runner runner;
  if (!request.quiet)
    fmt::print(stderr, "orrery: {} runs of PHOLD on one core\n", kCalibrationRuns);
  const auto speed = advise::measure_speed(runner, runs.path(), kCalibrationRuns);
  if (!speed) return kExitSignal + runner.signal();
  if (request.json) {
    print_out("{}\n", nlohmann::ordered_json{{"speed", speed->factor},
                                             {"events_per_second", speed->rate},
                                             {"lowest", speed->lowest},
                                             {"highest", speed->highest},
                                             {"reference", advise::kReferenceRate},
                                             {"runs", speed->runs},
                                             {"cores", HostFacts::now().usable_cores}}
                          .dump(2));
    return kExitOk;
  }
  print_out(
      "speed {:.2f}: {} events/s ({} to {} in {} runs), and {} are a factor of 1\n\n"
      "[[machine]]\nname = \"this machine\"\ncores = {}\nspeed = {:.2f}\n"
      "price_per_hour = 0  # what you pay for it\n",
      speed->factor, short_number(speed->rate), short_number(speed->lowest),
      short_number(speed->highest), speed->runs, short_number(advise::kReferenceRate),
      HostFacts::now().usable_cores, speed->factor);
  return kExitOk;
}

constexpr Entry kAdviseFiles[] = {
    {"FILE.toml", "With --machines: [[machine]], name, cores, speed, price_per_hour, memory_gib."},
    {"DIR/configurations.csv", "The measurements, a row for each configuration."},
    {"DIR/machines.csv", "With --machines: time and price, a row for each machine."},
    {"DIR/time-cost.svg", "Time against cost, with the efficient frontier."},
    {"DIR/advise.json", "All results. It is written last, when all other files are complete."},
};

constexpr CommandText kAdviseText = {
    .name = "advise",
    .summary = "Recommend how and on which machine to run a model, from short runs",
    .operands = "MODEL [OPTIONS]",
    .prose =
        R"(The command runs the model up to a warmed-up state, and from there measures engines, workers and ranks
in turn. The cost of an event and the number of events give the time of the whole run, with an interval,
and with a table of machines its price. Ctrl-C ends the command with the results so far.)",
    .examples =
        R"(orrery advise phold --until 1h
orrery advise traffic --set network=grid grid=100 --until 10h --budget 2min --out results/advice
orrery advise phold --until 1h --machines machines.toml --time-limit 10min
orrery advise traffic --set profile=day period=24h --until 24h --pilot demand=0.01
orrery advise phold --until 1h --engines timewarp --try checkpoint=auto,copy
orrery advise --calibrate                     the speed of this machine, for the table)",
    .more = R"(A table of machines has for each, for example:
  [[machine]]
  name = "small"
  cores = 2
  speed = 1.0
  price_per_hour = 0.05)",
    .files = kAdviseFiles};

class AdviseCommand final : public Command {
 public:
  AdviseCommand() : Command(kAdviseText) {}

  void declare(OptionTable& options) override {
    declare_model(options, request_);
    options.value("--budget", request_.budget, "TIME", "Wall-clock time to measure for (1min)");
    options.value("--machines", request_.machines, "FILE.toml",
                  "Table of machines: name, cores, speed, price_per_hour (this machine)");
    options.value("--time-limit", request_.time_limit, "TIME",
                  "Recommend the cheapest machine on which the run takes at most this time");
    options.value("--price-limit", request_.price_limit, "PRICE",
                  "Recommend the fastest machine on which the run costs at most this price");
    options.flag("--calibrate", request_.calibrate,
                 "Measure the speed factor of this machine for such a table; takes no model");
    options.value("--engines", request_.engines, "ENGINE,...", "Engines to measure (all but auto)");
    options.value("--workers", request_.workers, "N,...",
                  "Numbers of workers to measure (up to the number of usable cores)");
    options.value("--ranks", request_.rank_counts, "N,...",
                  "Numbers of ranks to measure; 1: none (as many as usable cores)");
    options.values("--try", request_.trials, "OPTION=VALUE,...",
                   "Values of an option to measure in addition to its default, such as "
                   "checkpoint=copy,incremental; may be repeated");
    options.values(
        "--pilot", request_.pilot, "NAME=VALUE",
        "Set a parameter to make the model smaller; a run of the smaller model to its end "
        "shows how events spread over simulated time; may be repeated");
    declare_run_options(options, request_, &workers_option());
    declare_set(options, request_);
    declare_config(options, request_);
    declare_output(options, request_);
  }

  int run(OptionTable& options, const Invocation&) override {
    refuse_mpi_launcher("orrery advise");
    if (request_.calibrate)
      refuse_all_but_calibration(options);
    else
      complete_request(options, request_, "advise");
    require_standard_output();
    return request_.calibrate ? calibrate(request_) : advise_on(request_);
  }

 private:
  void refuse_all_but_calibration(const OptionTable& options) const {
    for (const std::string& name : options.given())
      if (name != "--calibrate" && name != "--json" && name != "--quiet")
        throw UsageError(
            fmt::format("'orrery advise --calibrate' measures the machine alone; leave {} away",
                        name.starts_with("--") ? name : "'" + request_.words.front() + "'"));
  }

  AdviseRequest request_;
};

const CommandEntry kAdviseEntry(10, make_command<AdviseCommand>);

}  // namespace
}  // namespace orrery::cli
