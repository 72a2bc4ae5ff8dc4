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

#include "cli/commands.h"
#include "cli/pilots.h"
#include "cli/revision.h"
#include "cli/standard_output.h"
#include "cli/sweep_plan.h"
#include "cli/temporary_folder.h"
#include "core/model_registry.h"
#include "orrery/error.h"
#include "run/options/option_forms.h"
#include "run/threads/supervised_run.h"
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
std::vector<std::size_t> shown_measures(const SweepArguments& arguments,
                                        const study::RunTable& runs) {
  std::vector<std::size_t> shown;
  for (const std::string& name : option_forms::read_list("--show", arguments.shown)) {
    const auto place = runs.find(name);
    if (!place) {
      std::vector<std::string> names;
      for (const study::Measure& measure : runs.measures()) names.push_back(measure.name);
      throw UsageError(fmt::format(
          "{}--show names '{}', which no run reports{} (there are {}){}",
          arguments.place_in_file("show"), name, near_matches(name, names), fmt::join(names, ", "),
          arguments.out.empty() ? "" : "; the runs are kept, start the study again"));
    }
    if (runs.measures()[*place].is_text)
      throw UsageError(fmt::format("{}--show names '{}', which is a text and has no mean",
                                   arguments.place_in_file("show"), name));
    shown.push_back(*place);
  }
  for (const bool results : {true, false}) {
    for (std::size_t i = 0; i < runs.measures().size() && arguments.shown.empty(); ++i) {
      const study::Measure& measure = runs.measures()[i];
      if (measure.is_result == results && !measure.is_text &&
          (results || measure.name.ends_with(".mean")))
        shown.push_back(i);
    }
    if (!shown.empty()) break;
  }
  return shown;
}

StudyResult evaluate(const SweepArguments& arguments, const SweepPlan& sweep,
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
  study.compared = arguments.compared;
  read_runs(sweep, campaign, folder, study.runs);
  study.shown = shown_measures(arguments, study.runs);
  study.summary = summarise(study.plan, study.runs, study.confidence);
  if (!study.compared.empty())
    study.differences = compare(study.plan, study.runs, study.compared, study.confidence);
  study.failures = campaign.failures();
  study.given_up = campaign.given_up();
  return study;
}

void write_file(OutputFolder& folder, const std::string& name, const std::string& text) {
  FileWriter file(folder.add(name));
  file.write(text);
  file.finish();
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
    write_file(folder, name + ".svg", *picture);
  }
}

/// Returns the names of the files.
std::vector<std::string> write_files(const StudyResult& study, OutputFolder& folder) {
  std::vector<study::PlainTable> tables{table_of_runs(study), table_of_summary(study)};
  if (!study.compared.empty()) tables.push_back(table_of_comparison(study));
  for (const study::PlainTable& table : tables)
    write_file(folder, table.name + ".csv", csv_of(table));
  write_database(folder.add("study.sqlite"), tables);
  write_pictures(study, folder);
  const std::vector<std::string> names = folder.names();
  folder.publish(study_json(study, names));
  return names;
}

void show(const SweepArguments& arguments, const StudyResult& study,
          const std::vector<std::string>& files) {
  if (arguments.json) {
    print_out("{}", study_json(study, arguments.out.empty() ? std::vector<std::string>() : files));
    return;
  }
  if (!study.runs.rows().empty()) print_out("{}", study_text(study, Terminal::of(STDOUT_FILENO)));
  if (arguments.out.empty()) return;
  print_out("\nresults in {}:", arguments.out);
  for (const std::string& name : files) print_out(" {}", name);
  print_out(" {}\n", study::kStudyName);
}

int end_interrupted(const SweepArguments& arguments, const study::Campaign& campaign, int signal) {
  const std::string done =
      fmt::format("interrupted: {} of {} runs are finished", campaign.done(), campaign.total());
  fmt::print(stderr, "orrery: {}\n",
             arguments.out.empty()
                 ? done + "; without --out nothing is kept"
                 : done + fmt::format(" and kept in {}; the same command goes on", arguments.out));
  return kExitSignal + signal;
}

int judge(const StudyResult& study) {
  if (study.failures.empty()) return kExitOk;
  std::fflush(stdout);
  fmt::print(stderr, "orrery: {} of {} runs failed; the tables hold the others\n",
             study.failures.size(), study.failures.size() + study.runs.rows().size());
  return study.failures.front().code;
}

int sweep_in(const SweepArguments& arguments, const std::string& path) {
  SweepPlan sweep = plan_sweep(arguments);
  study::StudyFolder folder(path, sweep.identity, arguments.force);
  const std::optional<study::FixedWarmUp> warm_up = fix_warm_up(sweep, path, arguments);
  study::Campaign campaign(sweep.plan, folder, sweep.maker, arguments.quiet);
  if (const int signal = campaign.carry_out(); signal != 0)
    return end_interrupted(arguments, campaign, signal);
  StudyResult study = evaluate(arguments, sweep, campaign, folder);
  study.warm_up = warm_up;
  const std::vector<std::string> files = write_files(study, folder.output());
  show(arguments, study, files);
  return judge(study);
}

}  // namespace

int sweep_command(const SweepArguments& arguments) {
  require_standard_output();
  try {
    if (!arguments.out.empty()) return sweep_in(arguments, arguments.out);
    const TemporaryFolder folder("orrery-sweep");
    return sweep_in(arguments, folder.path());
  } catch (const PilotsEnded& ended) {
    return ended.code;
  } catch (const SystemFailure& failure) {
    fmt::print(stderr, "orrery: {}\n", failure.what());
    return kExitSystem;
  }
}

}  // namespace orrery::cli
