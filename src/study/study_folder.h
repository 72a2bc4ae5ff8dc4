// SPDX-License-Identifier: Apache-2.0
//
// The folder of a study: plan.json, which says whose folder it is, a folder for each run in
// runs/point-N/seed-S, and, when all runs are over, tables, pictures and study.json, in that order.
//
// A study that was interrupted or killed goes on in its folder, by the same command. That needs no
// journal: a run is finished where its report is, since a run writes its report last
// (observe/output_folder.h). It counts if the report is whole, of the same command, and of the same
// builds of program and model; everything else is run again.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "observe/output_folder.h"

namespace orrery::study {

using orrery::kPlanName;
using orrery::kStudyName;

/// What makes a run the one that is wanted.
struct RunIdentity {
  std::vector<std::string> command;        ///< words that its own must begin with
  std::string program_build, model_build;  ///< see core/modules.h
};

enum class Found : std::uint8_t { nothing, another, of_another_build, finished };

/// What lies in the folder of a run; the report, if it is the finished one that is wanted.
Found look_for_run(const std::string& folder, const RunIdentity& wanted,
                   nlohmann::ordered_json& report);

class StudyFolder {
 public:
  /// `plan`: what may not change while a study goes on, by name. Throws UsageError for a folder
  /// that is another's: that of a run, or of a study with another plan if `force` is not set.
  StudyFolder(const std::string& path, const nlohmann::ordered_json& plan, bool force);

  const std::string& path() const { return output_.path(); }
  /// For the files beside the runs.
  OutputFolder& output() { return output_; }
  /// Of a run; points count from 1 there.
  std::string run_folder(std::size_t point, std::uint64_t seed) const;

 private:
  bool has_plan(const nlohmann::ordered_json& plan, bool force) const;
  void write_plan(const nlohmann::ordered_json& plan) const;
  std::string in_folder(std::string_view name) const;

  OutputFolder output_;
};

/// Waits, though not for ever, until no run of a study that was killed holds the folder any more.
void wait_for_release(const std::string& run_folder);

}  // namespace orrery::study
