// SPDX-License-Identifier: Apache-2.0
//
// orrery run --again REPORT: the run that a report tells of, once more. The report has the words of
// the command, the builds of the program and of the model, and digests of all input files; what is
// not as it was then is refused by its name, so the fingerprints have to be equal, and that is
// checked, too. Where results go, what is shown, and on which engine, workers and ranks is free,
// since nothing depends on it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "observe/run_record.h"

namespace CLI {
class App;
}

namespace orrery::cli {

class Again {
 public:
  /// `path`: of a report, or of the folder that has it. Throws UsageError for one that cannot be
  /// repeated.
  explicit Again(const std::string& path);

  /// Not what a run leaves and shows, be it given by words or in a config file.
  static bool repeats(std::string_view flag);

  /// The words of the repeated command, behind the program's name. `given`: those behind `orrery
  /// run`; what stands beside --again wins. Throws UsageError if it would make it another run.
  /// `run`: knows options.
  std::vector<std::string> words(const CLI::App& run, const std::vector<std::string>& given) const;

  /// Throws UsageError if program or model are of another build than they were.
  void check_builds(const std::string& model_path) const;
  std::string revision_text() const;
  /// The same for input files, once the model is prepared.
  void check_inputs(const std::vector<InputFile>& inputs) const;
  /// Of a run that is over: a note, or what is wrong.
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
