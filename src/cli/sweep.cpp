// SPDX-License-Identifier: Apache-2.0
//
// orrery sweep MODEL: a study, that is, runs of a model at several points with several seeds each,
// and tables of their results. All runs are executed first; then the tables are made from the
// reports, in the order of the plan.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <optional>
#include <set>

#include "cli/command.h"
#include "cli/pilots.h"
#include "cli/rank_session.h"
#include "cli/revision.h"
#include "cli/standard_output.h"
#include "cli/study_file.h"
#include "cli/sweep_plan.h"
#include "cli/temporary_folder.h"
#include "core/model_registry.h"
#include "orrery/error.h"
#include "run/options/option_forms.h"
#include "study/campaign.h"
#include "study/picture.h"
#include "study/study_folder.h"
#include "study/study_result.h"

namespace orrery::cli {
namespace {

using study::StudyResult;

/// Skips failed runs, since their folders may hold the report of an earlier run.
void read_runs(const SweepPlan& sweep, const study::Campaign& campaign,
               const study::StudyFolder& folder, study::RunTable& runs) {
  std::set<std::pair<std::size_t, std::uint64_t>> failed;
  for (const study::Failure& one : campaign.failures()) failed.emplace(one.point, one.place);
  for (std::size_t point = 0; point < sweep.plan.points.size(); ++point) {
    for (std::uint64_t i = 0; i < campaign.replications(point); ++i) {
      if (failed.contains({point, i})) continue;
      const std::uint64_t seed = sweep.plan.seed(i);
      nlohmann::ordered_json report;
      if (look_for_run(folder.run_folder(point, seed), sweep.maker.identity(point, seed), report) ==
          study::Found::finished)
        runs.add(point, seed, report);
    }
  }
}

/// The measures that --show names; by default the model's results, or the means of its metrics if
/// it has no results.
std::vector<std::size_t> shown_measures(const SweepRequest& request, const study::RunTable& runs) {
  std::vector<std::size_t> shown;
  for (const std::string& name : option_forms::read_list("--show", request.shown)) {
    const auto place = runs.find(name);
    if (!place) {
      std::vector<std::string> names;
      for (const study::Measure& measure : runs.measures()) names.push_back(measure.name);
      throw UsageError(
          fmt::format("--show names '{}', which no run reports{} (there are {}){}", name,
                      near_matches(name, names), fmt::join(names, ", "),
                      request.out.empty() ? "" : "; the runs are kept, start the study again"));
    }
    if (runs.measures()[*place].is_text)
      throw UsageError(fmt::format("--show names '{}', which is a text and has no mean", name));
    shown.push_back(*place);
  }
  for (const bool results : {true, false}) {
    for (std::size_t i = 0; i < runs.measures().size() && request.shown.empty(); ++i) {
      const study::Measure& measure = runs.measures()[i];
      if (measure.is_result == results && !measure.is_text &&
          (results || measure.name.ends_with(".mean")))
        shown.push_back(i);
    }
    if (!shown.empty()) break;
  }
  return shown;
}

StudyResult evaluate(const SweepRequest& request, const SweepPlan& sweep,
                     const study::Campaign& campaign, const study::StudyFolder& folder) {
  StudyResult study;
  study.model_name = sweep.model_name;
  study.model_path = sweep.model_path;
  study.revision = kRevision;
  study.program_build = sweep.maker.program_build;
  study.model_build = sweep.maker.model_build;
  study.identity = sweep.identity;
  study.plan = sweep.plan;
  study.confidence = sweep.confidence;
  study.compared = request.compared;
  read_runs(sweep, campaign, folder, study.runs);
  study.shown = shown_measures(request, study.runs);
  study.summary = summarise(study.plan, study.runs, study.confidence);
  if (!study.compared.empty())
    study.differences = compare(study.plan, study.runs, study.compared, study.confidence);
  study.failures = campaign.failures();
  study.given_up = campaign.given_up();
  return study;
}

void write_pictures(const StudyResult& study, OutputFolder& folder) {
  std::set<std::string> taken;
  for (const std::size_t measure : study.shown) {
    const auto picture = picture_of(study, measure);
    if (!picture) continue;
    std::string name = study.measure(measure).name;
    for (char& c : name)
      if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-' && c != '.') c = '_';
    while (!taken.insert(name).second) name += "_";
    folder.add(name + ".svg", *picture);
  }
}

/// Returns the names of the files.
std::vector<std::string> write_files(const StudyResult& study, OutputFolder& folder) {
  std::vector<study::PlainTable> tables{table_of_runs(study), table_of_summary(study)};
  if (!study.compared.empty()) tables.push_back(table_of_comparison(study));
  for (const study::PlainTable& table : tables) folder.add(table.name + ".csv", csv_of(table));
  write_database(folder.add("study.sqlite"), tables);
  write_pictures(study, folder);
  const std::vector<std::string> names = folder.names();
  folder.publish(study_json(study, names));
  return names;
}

void show(const SweepRequest& request, const StudyResult& study,
          const std::vector<std::string>& files) {
  if (request.json) {
    print_out("{}", study_json(study, request.out.empty() ? std::vector<std::string>() : files));
    return;
  }
  if (!study.runs.rows().empty()) print_out("{}", study_text(study, Terminal::of(STDOUT_FILENO)));
  if (request.out.empty()) return;
  print_out("\nresults in {}:", request.out);
  for (const std::string& name : files) print_out(" {}", name);
  print_out(" {}\n", study::kStudyName);
}

int end_interrupted(const SweepRequest& request, const study::Campaign& campaign, int signal) {
  const std::string done =
      fmt::format("interrupted: {} of {} runs are finished", campaign.done(), campaign.total());
  fmt::print(stderr, "orrery: {}\n",
             request.out.empty()
                 ? done + "; without --out nothing is kept"
                 : done + fmt::format(" and kept in {}; the same command goes on", request.out));
  return kExitSignal + signal;
}

int judge(const StudyResult& study) {
  if (study.failures.empty()) return kExitOk;
  std::fflush(stdout);
  fmt::print(stderr, "orrery: {} of {} runs failed; the tables hold the others\n",
             study.failures.size(), study.failures.size() + study.runs.rows().size());
  return study.failures.front().code;
}

int sweep_in(const SweepRequest& request, const std::string& path) {
  SweepPlan sweep = plan_sweep(request);
  study::StudyFolder folder(path, sweep.identity, request.force);
  const std::optional<study::FixedWarmUp> warm_up = fix_warm_up(sweep, path, request);
  study::Campaign campaign(sweep.plan, folder, sweep.maker, request.quiet);
  if (const int signal = campaign.carry_out(); signal != 0)
    return end_interrupted(request, campaign, signal);
  StudyResult study = evaluate(request, sweep, campaign, folder);
  study.warm_up = warm_up;
  const std::vector<std::string> files = write_files(study, folder.output());
  show(request, study, files);
  return judge(study);
}

constexpr Entry kSweepFiles[] = {
    {"DIR/runs.csv", "A row for each run."},
    {"DIR/summary.csv", "Means and intervals, a row for each measure and point."},
    {"DIR/comparison.csv", "With --compare: the differences."},
    {"DIR/study.sqlite", "The tables of the three files above."},
    {"DIR/MEASURE.svg", "A picture of each measure of --show."},
    {"DIR/study.json",
     "All results but single runs. It is written last, when all other files are complete."},
    {"DIR/runs/point-N/seed-S", "The results of one run."},
};

constexpr CommandText kSweepText = {
    .name = "sweep",
    .summary = "Run a study: many points and seeds, with tables and intervals",
    .operands = "MODEL|STUDY.toml [OPTIONS]",
    .prose =
        R"(Every combination of values runs with every seed, each run in a process of its own, as many runs at
once as there are cores. Tables and intervals are made after all runs. With --out, Ctrl-C or a crash
costs only the unfinished runs: the same command resumes the study.)",
    .examples =
        R"(orrery sweep pcs --set cells=49 channels=10..50:10 --seeds 1..20 --out results/channels
orrery sweep wireless --set stations=10..50:10 access=csma,aloha --compare access
orrery sweep ./mm1.so --set load=0.5,0.8 --until-precision mean_stay=0.01@0.95
orrery sweep pcs --set channels=10,20 --warm-up auto:power --until 5h
orrery sweep channels.toml --jobs 2)",
    .more = R"(A study file has the same options, for example:
  model = "pcs"
  seeds = "1..20"
  out = "results/channels"
  [set]
  cells = 49
  channels = "10..50:10")",
    .files = kSweepFiles};

class SweepCommand final : public Command {
 public:
  SweepCommand() : Command(kSweepText) {}

  void declare(OptionTable& options) override {
    options.operands(
        "MODEL", request_.words,
        "Name of a model, path of a shared object that holds one, or a study file (.toml)");
    options.values("--set", request_.sets, "NAME=VALUES",
                   "Values of a parameter: 10, csma,aloha or 10..50:10; may be repeated, and then "
                   "all combinations run");
    options.value("--seeds", request_.seeds, "N,...",
                  "Seeds of the replications of each point (1..10)");
    options.value("--jobs", request_.jobs, "N",
                  "Number of runs at the same time (the number of usable cores)");
    options.value("--confidence", request_.confidence, "SHARE",
                  "Probability that an interval covers the mean (0.95)");
    options.values("--until-precision", request_.precisions, "MEASURE=SHARE[@CONFIDENCE]",
                   "Add replications until an interval is within this share of its mean; may be "
                   "repeated");
    options.value("--max-seeds", request_.max_seeds, "N",
                  "Largest number of replications for --until-precision (1000)");
    options.value("--compare", request_.compared, "PARAMETER",
                  "Show the differences between the values of this parameter");
    options.value("--show", request_.shown, "MEASURE,...",
                  "Results and metrics for the terminal and for pictures (the model's results)");
    options.value("--engine", request_.engine, "ENGINE",
                  "Engine of each run (sequential, if runs share cores)");
    declare_run_options(options, request_, &seed_option());
    options.value("--out", request_.out, "DIR",
                  "Leave the results in this folder, and go on there");
    options.flag("--force", request_.force,
                 "Replace another study in that folder; runs that both have are kept");
    options.flag("--quiet", request_.quiet, "Show no progress");
    options.flag("--json", request_.json, "Print the study as JSON instead of tables");
  }

  int run(OptionTable& options, const Invocation&) override {
    refuse_mpi_launcher("orrery sweep");
    complete(options);
    require_standard_output();
    try {
      if (!request_.out.empty()) return sweep_in(request_, request_.out);
      const TemporaryFolder folder("orrery-sweep");
      return sweep_in(request_, folder.path());
    } catch (const PilotsEnded& ended) {
      return ended.code;
    }
  }

 private:
  /// Sorts the words and reads the study file. The command line wins over the file.
  void complete(OptionTable& options) {
    sort_words(request_);
    const bool by_file = request_.model.ends_with(".toml");
    if (by_file) {
      apply_study_file(options, std::exchange(request_.model, ""), request_);
      options.refuse_missing_values();
    }
    if (!request_.model.empty()) return;
    throw UsageError(by_file ? request_.places.file + " names no model; write: model = \"NAME\""
                             : "which model? 'orrery sweep MODEL' needs one, or a study file; "
                               "'orrery list' shows all models");
  }

  SweepRequest request_;
};

const CommandEntry kSweepEntry(9, make_command<SweepCommand>);

}  // namespace
}  // namespace orrery::cli
