// SPDX-License-Identifier: Apache-2.0
//
// orrery report DIR ...: a page for a browser about a run, several runs side by side, or a study.
// The command reads result folders only, so it needs neither the model nor the build that made
// them.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

#include "cli/command.h"
#include "cli/standard_output.h"
#include "orrery/error.h"
#include "output/output_folder.h"
#include "page/comparison_page.h"
#include "page/run_page.h"
#include "page/study_page.h"

namespace orrery::cli {
namespace {

namespace fs = std::filesystem;

struct PageRequest {
  std::vector<std::string> folders;
  std::string out;
  bool force = false;
};

constexpr const char* kSeveralName = "comparison.html";

std::string target_of(const PageRequest& request) {
  if (!request.out.empty()) return request.out;
  if (request.folders.size() > 1) return kSeveralName;
  return (fs::path(request.folders.front()) / kPageName).string();
}

/// A page may be overwritten without --force, since users make pages again and again; no other file
/// may.
void check_target(const std::string& file, bool force) {
  std::error_code unknown;
  if (fs::is_directory(file, unknown))
    throw UsageError(fmt::format("'{}' is a folder; --out needs the name of a file in it", file));
  if (force || !fs::exists(file, unknown) || is_page(file)) return;
  throw UsageError(fmt::format(
      "'{}' is there and is no page of 'orrery report'; choose another file with --out, or replace "
      "it with --force",
      file));
}

std::string page_of(const std::vector<std::string>& folders) {
  if (folders.size() == 1) {
    if (page::is_study(folders.front())) return page::page_of_study(folders.front());
    return page::page_of_run(page::read_run_folder(folders.front()));
  }
  std::vector<page::RunFolder> runs;
  for (const std::string& folder : folders) {
    if (page::is_study(folder)) {
      throw UsageError(fmt::format(
          "'{0}' is the folder of a study, which has a page of its own ('orrery report {0}'); side "
          "by side stand runs, such as those in '{0}/runs'",
          folder));
    }
    runs.push_back(page::read_run_folder(folder));
  }
  return page::page_of_comparison(runs);
}

/// Writes under a temporary name first, so that half a page never has the final name.
void write_page(const std::string& file, const std::string& text) {
  const std::string temporary = file + ".part";
  try {
    FileWriter writer(temporary);
    writer.write(text);
    writer.finish();
  } catch (const UsageError&) {
    std::error_code ignored;
    fs::remove(temporary, ignored);
    throw;
  }
  std::error_code error;
  fs::rename(temporary, file, error);
  if (error) throw UsageError(fmt::format("cannot write '{}': {}", file, error.message()));
}

constexpr Entry kPageFiles[] = {
    {"DIR/report.html", "The page of a run or a study (without --out)."},
    {"comparison.html", "The page of several runs, in the current folder (without --out)."},
};

constexpr CommandText kReportText = {
    .name = "report",
    .summary = "Make a page of a run, of several runs side by side, or of a study",
    .operands = "DIR... [OPTIONS]",
    .prose =
        R"(The page is one HTML file. It shows the command, results, metrics, tables and pictures of a run, the
progress of the engine over time, and what limited the run. Several runs are compared with the first.)",
    .examples = R"(orrery report results/sioux
orrery report results/sioux --out sioux.html
orrery report results/csma results/aloha --out access.html
orrery report results/channels                the page of a study)",
    .files = kPageFiles};

class ReportCommand final : public Command {
 public:
  ReportCommand() : Command(kReportText) {}

  void declare(OptionTable& options) override {
    options.operands("DIR", request_.folders,
                     "Folder of a run or a study; several runs stand side by side");
    options.value("--out", request_.out, "FILE",
                  "The page (report.html in the folder; of several, comparison.html here)");
    options.flag("--force", request_.force, "Replace a file that is no such page");
  }

  int run(OptionTable&, const Invocation&) override {
    if (request_.folders.empty())
      throw UsageError(
          "which run? 'orrery report DIR' needs the folder that 'orrery run --out DIR' left");
    require_standard_output();
    const std::string file = target_of(request_);
    check_target(file, request_.force);
    write_page(file, page_of(request_.folders));
    print_out("page in {}\n", file);
    return kExitOk;
  }

 private:
  PageRequest request_;
};

const CommandEntry kReportEntry(13, make_command<ReportCommand>);

}  // namespace
}  // namespace orrery::cli
