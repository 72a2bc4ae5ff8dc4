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
#include "cli/commands.h"
#include "cli/standard_output.h"
#include "cli/temporary_folder.h"
#include "core/duration_text.h"
#include "core/model_registry.h"
#include "core/text.h"
#include "observe/host.h"
#include "observe/number_text.h"
#include "observe/output_folder.h"
#include "orrery/error.h"
#include "run/options/option_forms.h"
#include "run/results/observation.h"
#include "run/threads/supervised_run.h"

namespace orrery::cli {
namespace {

using advise::Configuration;
using advise::Measurement;

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

std::vector<const EngineInfo*> chosen_engines(const AdviseArguments& arguments) {
  std::vector<const EngineInfo*> chosen;
  for (const std::string& name : option_forms::read_list("--engines", arguments.engines))
    chosen.push_back(&find_engine(name));
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
std::vector<Configuration> shapes_of(const EngineInfo& engine, const AdviseArguments& arguments,
                                     unsigned cores) {
  Configuration bare;
  bare.engine = engine.name;
  if (!engine.honours(workers_option())) return {bare};
  std::vector<Configuration> shapes;
  std::vector<unsigned> workers = read_counts("--workers", arguments.workers);
  if (workers.empty()) {
    workers = usual_counts(cores);
    // One worker that never rolls back does what the sequential engine does.
    if (engine.name != kOptimistic && cores > 1) workers.erase(workers.begin());
  }
  for (const unsigned count : workers) {
    bare.workers = count;
    shapes.push_back(bare);
  }
  std::vector<unsigned> ranks = read_counts("--ranks", arguments.rank_counts);
  if (ranks.empty()) ranks = {cores};
  if (!engine.make()->spans_ranks()) return shapes;
  const std::vector<unsigned> each = arguments.workers.empty() ? std::vector<unsigned>{1} : workers;
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
std::vector<Trial> read_trials(const AdviseArguments& arguments, const Model& model) {
  std::vector<Trial> trials;
  for (const std::string& text : arguments.trials) {
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
std::vector<Configuration> candidates_of(const AdviseArguments& arguments, const Model& model,
                                         unsigned cores) {
  const std::vector<Trial> trials = read_trials(arguments, model);
  std::vector<Configuration> all;
  for (const EngineInfo* engine : chosen_engines(arguments)) {
    std::vector<Configuration> own = shapes_of(*engine, arguments, cores);
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

void refuse_what_has_no_length(const AdviseArguments& arguments) {
  for (const OptionBase* option : all_options()) {
    if (arguments.text(*option).empty()) continue;
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
std::vector<std::string> option_words(const AdviseArguments& arguments, bool of_a_fork) {
  const OptionList observations = observation_options();
  std::vector<std::string> words;
  for (const OptionBase* option : all_options()) {
    const std::string text = arguments.text(*option);
    if (text.empty() || option == &workers_option()) continue;
    const bool stays =
        option == &seed_option() || option->name() == "until" || option->name() == "livelock" ||
        std::find(observations.begin(), observations.end(), option) != observations.end();
    if (of_a_fork && stays) continue;
    words.push_back(option->takes_value() ? option->flag() + "=" + text : option->flag());
  }
  return words;
}

std::vector<std::string> run_words(const AdviseArguments& arguments,
                                   const std::vector<std::string>& sets) {
  std::vector<std::string> words = {"run", arguments.model};
  for (const std::string& set : sets) words.insert(words.end(), {"--set", set});
  const std::vector<std::string> options = option_words(arguments, false);
  words.insert(words.end(), options.begin(), options.end());
  return words;
}

/// The pilot's parameters: those of the run, replaced by those given for the pilot.
std::vector<std::string> pilot_sets(const AdviseArguments& arguments) {
  RunArguments pilot;
  pilot.model = arguments.model;
  pilot.file_sets = effective_sets(arguments);
  pilot.sets = arguments.pilot;
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

Prepared prepare(const AdviseArguments& arguments) {
  Prepared prepared;
  advise::Question& question = prepared.question;
  refuse_what_has_no_length(arguments);
  const ChosenModel model = choose_model(arguments);
  read_options(arguments, *model.model);
  question.cores = HostFacts::now().usable_cores;
  question.run_words = run_words(arguments, effective_sets(arguments));
  question.fork_words = option_words(arguments, true);
  if (!arguments.pilot.empty()) question.pilot_words = run_words(arguments, pilot_sets(arguments));
  question.candidates = candidates_of(arguments, *model.model, question.cores);
  if (!arguments.budget.empty())
    question.budget_seconds = read_wall_time("--budget", arguments.budget);
  else
    question.budget_seconds = kDefaultBudgetSeconds;
  question.quiet = arguments.quiet;
  if (!arguments.machines.empty()) prepared.table = advise::read_machines(arguments.machines);
  question.wants_speed = !arguments.machines.empty();
  if (!arguments.time_limit.empty())
    prepared.limits.seconds = read_wall_time("--time-limit", arguments.time_limit);
  if (!arguments.price_limit.empty()) prepared.limits.price = read_price(arguments.price_limit);
  return prepared;
}

// --- the answer --------------------------------------------------------------------------------

void write_file(OutputFolder& folder, const std::string& name, const std::string& text) {
  FileWriter file(folder.add(name));
  file.write(text);
  file.finish();
}

/// Returns the names of the files.
std::vector<std::string> write_files(const advise::Advice& advice, OutputFolder& folder) {
  for (const study::PlainTable& table : advise::advice_tables(advice))
    write_file(folder, table.name + ".csv", study::csv_of(table));
  write_file(folder, "time-cost.svg", advise::advice_picture(advice));
  nlohmann::ordered_json json = advise::advice_json(advice);
  const std::vector<std::string> names = folder.names();
  json["files"] = names;
  folder.publish(json.dump(2) + "\n");
  return names;
}

int refuse(int code, const std::string& sentence) {
  std::fflush(stdout);
  fmt::print(stderr, "orrery: {}\n", printable(sentence));
  return code;
}

std::string refusals(const advise::Findings& found) {
  std::string text = "no configuration could be measured";
  for (const advise::Measured& one : found.measured)
    if (!one.refusal.empty())
      text += fmt::format("; {}: {}", one.configuration.name(), one.refusal);
  return text;
}

int answer(const AdviseArguments& arguments, const Prepared& prepared, advise::Findings found,
           std::optional<OutputFolder>& folder) {
  const int signal = found.signal;
  const std::string nothing = refusals(found);
  std::optional<advise::Advice> advice = advise::make_advice(
      std::move(found), prepared.table.machines, prepared.limits, prepared.question.cores);
  if (!advice) return refuse(signal != 0 ? kExitSignal + signal : kExitUsage, nothing);
  advice->model = arguments.model;
  advice->run_command = prepared.question.run_words;
  advice->currency = prepared.table.currency;
  std::vector<std::string> files;
  if (folder) files = write_files(*advice, *folder);
  if (arguments.json) {
    print_out("{}\n", advise::advice_json(*advice).dump(2));
  } else {
    print_out("{}", advise::advice_text(*advice, Terminal::of(STDOUT_FILENO)));
    if (folder)
      print_out("\nresults in {}: {} {}\n", arguments.out, fmt::join(files, " "), kAdviceName);
  }
  if (signal == 0) return kExitOk;
  return refuse(kExitSignal + signal, "interrupted: this is what was known by then");
}

int advise_on(const AdviseArguments& arguments) {
  const Prepared prepared = prepare(arguments);
  std::optional<OutputFolder> folder;
  if (!arguments.out.empty()) folder.emplace(arguments.out, kAdviceName, arguments.force);
  const TemporaryFolder runs("orrery-advise");
  try {
    Measurement measurement(prepared.question, runs.path());
    return answer(arguments, prepared, measurement.carry_out(), folder);
  } catch (const Measurement::Failed& failed) {
    return refuse(failed.code, failed.sentence);
  } catch (const Measurement::Interrupted& interrupted) {
    return refuse(kExitSignal + interrupted.signal, "interrupted: nothing is known yet");
  }
}

int calibrate(const AdviseArguments& arguments) {
  const TemporaryFolder runs("orrery-advise");
  advise::Runner runner;
  if (!arguments.quiet)
    fmt::print(stderr, "orrery: {} runs of PHOLD on one core\n", kCalibrationRuns);
  const auto speed = advise::measure_speed(runner, runs.path(), kCalibrationRuns);
  if (!speed) return kExitSignal + runner.signal();
  if (arguments.json) {
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

}  // namespace

int advise_command(const AdviseArguments& arguments) {
  require_standard_output();
  try {
    return arguments.calibrate ? calibrate(arguments) : advise_on(arguments);
  } catch (const SystemFailure& failure) {
    return refuse(kExitSystem, failure.what());
  }
}

}  // namespace orrery::cli
