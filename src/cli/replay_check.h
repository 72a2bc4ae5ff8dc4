// SPDX-License-Identifier: Apache-2.0
//
// orrery run --again REPORT: repeats the run that a report describes. The report has the words of
// the command, the builds of the program and of the model, and digests of all input files.
// ReplayCheck refuses a build or an input file that has changed, by its name, so the fingerprints
// have to be equal; ReplayCheck checks that, too. Output options, engine, workers and ranks may
// differ, since the fingerprint does not depend on them.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/run_feature.h"

namespace orrery::cli {

class ReplayCheck final : public RunFeature {
 public:
  bool is_on() const { return !path_.empty(); }
  /// Whether a repetition ignores this option of the report, on the command line or in a config
  /// file: true for options about the output of a run.
  bool ignores(const std::string& flag) const;
  /// The words to parse instead of `given`, those behind `orrery run`: with --again those of the
  /// report, where the other options in `given` replace those of the report. Throws UsageError if
  /// the run cannot be repeated, or if `given` would make the repetition another run. `options`:
  /// of the command.
  std::vector<std::string> replaced(const OptionTable& options, std::vector<std::string> given);

  void declare(OptionTable& options) override;
  /// Throws UsageError if the program's or the model's build is not the one in the report.
  void model_chosen(RunState& run) override;
  /// Throws UsageError if input files differ from the report's.
  void model_prepared(RunState& run) override;
  void end(RunState& run) override;

 private:
  void read_report(const std::string& path);
  std::string revision_text() const;
  [[noreturn]] void refuse(const std::string& why) const;

  std::string unused_;  ///< where the parser would put the value of --again
  std::string path_;    ///< of the report; empty: this is no repetition
  nlohmann::ordered_json report_;
};

}  // namespace orrery::cli
