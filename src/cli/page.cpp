// SPDX-License-Identifier: Apache-2.0
//
// orrery report DIR ...: a page for a browser about a run, several runs side by side, or a study.
// The command reads result folders only, so it needs neither the model nor the build that made
// them.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

#include "cli/commands.h"
#include "cli/standard_output.h"
#include "observe/output_folder.h"
#include "orrery/error.h"
#include "page/comparison_page.h"
#include "page/run_page.h"
#include "page/study_page.h"

namespace orrery::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSeveralName = "comparison.html";

std::string target_of(const PageArguments& arguments) {
  if (!arguments.out.empty()) return arguments.out;
  if (arguments.folders.size() > 1) return kSeveralName;
  return (fs::path(arguments.folders.front()) / kPageName).string();
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

}  // namespace

int page_command(const PageArguments& arguments) {
  require_standard_output();
  const std::string file = target_of(arguments);
  check_target(file, arguments.force);
  write_page(file, page_of(arguments.folders));
  print_out("page in {}\n", file);
  return kExitOk;
}

}  // namespace orrery::cli
