// SPDX-License-Identifier: Apache-2.0
//
// The folder of a study: plan.json, which identifies the study, a folder for each run in
// runs/point-N/seed-S, and, after all runs, tables, pictures and study.json, written in that order.
//
// The same command resumes a study that was interrupted or killed. That needs no journal: a run is
// finished if its report exists, since a run writes its report last (output/output_folder.h). A
// report counts if it is complete, and if it has the same command and the same builds of program
// and model; all other runs are executed again.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "output/output_folder.h"

namespace orrery::study {

using orrery::kPlanName;
using orrery::kStudyName;

/// The facts that identify a run.
struct RunIdentity {
  std::vector<std::string> command;        ///< the words with which the run's command must begin
  std::string program_build, model_build;  ///< see core/modules.h
};

enum class Found : std::uint8_t { nothing, another, of_another_build, finished };

/// Looks for the run `wanted` in a folder; if it is finished, `report` becomes its report.
Found look_for_run(const std::string& folder, const RunIdentity& wanted,
                   nlohmann::ordered_json& report);

class StudyFolder {
 public:
  /// `plan`: the properties, by name, that must stay the same when a study is resumed. Throws
  /// UsageError for the folder of a run, and for the folder of a study with another plan if `force`
  /// is not set.
  StudyFolder(const std::string& path, const nlohmann::ordered_json& plan, bool force);

  const std::string& path() const { return output_.path(); }
  /// For the files beside the runs.
  OutputFolder& output() { return output_; }
  /// The folder of a run; its name counts points from 1.
  std::string run_folder(std::size_t point, std::uint64_t seed) const;

 private:
  bool has_plan(const nlohmann::ordered_json& plan, bool force) const;
  void write_plan(const nlohmann::ordered_json& plan) const;
  std::string in_folder(std::string_view name) const;

  OutputFolder output_;
};

/// Waits, for a limited time, until no run of a killed study holds the lock of the folder.
void wait_for_release(const std::string& run_folder);

}  // namespace orrery::study
