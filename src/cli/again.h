// SPDX-License-Identifier: Apache-2.0
//
// orrery run --again REPORT: repeats the run that a report describes. The report has the words of
// the command, the builds of the program and of the model, and digests of all input files. Again
// refuses a build or an input file that has changed, by its name, so the fingerprints have to be
// equal; Again checks that, too. Output options, engine, workers and ranks may differ, since the
// fingerprint does not depend on them.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "cli/option_table.h"
#include "observe/run_record.h"

namespace orrery::cli {

class Again {
 public:
  /// `path`: of a report, or of the folder that has the report. Throws UsageError if the run cannot
  /// be repeated.
  explicit Again(const std::string& path);

  /// False for options that say what a run writes and shows, on the command line or in a config
  /// file.
  static bool repeats(std::string_view flag);

  /// The value of --again among the words behind `orrery run`; empty: there is none, or
  /// the parser refuses the words.
  static std::string report_in(const OptionTable& run, const std::vector<std::string>& words);

  /// The words to parse instead of `given`, those behind `orrery run`: options beside --again
  /// replace those of the report. Throws UsageError if `given` would make the repetition another
  /// run. `run`: the options of the command.
  std::vector<std::string> words(const OptionTable& run,
                                 const std::vector<std::string>& given) const;

  /// Throws UsageError if the program's or the model's build is not the one in the report.
  void check_builds(const std::string& model_path) const;
  std::string revision_text() const;
  /// Throws UsageError if input files differ from the report's. Call it once the model is prepared.
  void check_inputs(const std::vector<InputFile>& inputs) const;
  /// The comparison with a run that has ended: a note, or an error.
  struct Verdict {
    bool equal = true;
    std::string sentence;
  };
  Verdict judge(const RunRecord& record) const;

 private:
  [[noreturn]] void refuse(const std::string& why) const;

  std::string path_;
  nlohmann::ordered_json report_;
};

}  // namespace orrery::cli
