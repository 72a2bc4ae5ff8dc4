// SPDX-License-Identifier: Apache-2.0
#include "study/study_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "core/file_output.h"
#include "orrery/error.h"
#include "page/json_place.h"

namespace orrery::study {
namespace fs = std::filesystem;
namespace {

using Json = nlohmann::ordered_json;

constexpr int kLockPeriodUs = 20'000;
constexpr int kLockTries = 500;  // 10 s, since a killed run may need time to free its memory
constexpr std::size_t kLongestShown = 60;

Json read_json(const std::string& path) {
  std::ifstream stream(path);
  if (!stream) return {};
  return Json::parse(stream, nullptr, false);
}

/// JSON text in which bytes that are not UTF-8 are replaced; texts are compared in this form.
std::string written(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

bool begins_with(const Json& words, const std::vector<std::string>& wanted) {
  if (!words.is_array() || words.size() < wanted.size()) return false;
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (written(words[i]) != written(wanted[i])) return false;
  return true;
}

/// The difference in words, if it is short enough.
std::string difference_text(const std::string& name, const Json& old_value, const Json& new_value) {
  const auto text = [](const Json& value) {
    return value.is_string() ? value.get<std::string>() : written(value);
  };
  const std::string before = text(old_value), now = text(new_value);
  if (before.size() + now.size() > kLongestShown) return fmt::format("its '{}' differs", name);
  return fmt::format("its '{}' is {}, not {}", name, before, now);
}

}  // namespace

Found look_for_run(const std::string& folder, const RunIdentity& wanted, Json& report) {
  report = read_json((fs::path(folder) / kReportName).string());
  if (report.is_null()) return Found::nothing;
  if (!report.is_object() || report.value("complete", false) == false) return Found::nothing;
  if (!report.contains("command") || !begins_with(report["command"], wanted.command))
    return Found::another;
  const bool is_same_build = page::text_at(report, {"orrery", "build"}) == wanted.program_build &&
                             page::text_at(report, {"model", "build"}) == wanted.model_build;
  return is_same_build ? Found::finished : Found::of_another_build;
}

StudyFolder::StudyFolder(const std::string& path, const Json& plan, bool force)
    : output_(path, kStudyName, true) {
  for (const std::string_view other : {kReportName, kComparisonName}) {
    if (std::error_code unknown; fs::exists(in_folder(other), unknown)) {
      throw UsageError(fmt::format(
          "folder '{}' holds the {} of a run or a comparison; choose another with --out", path,
          other));
    }
  }
  if (!has_plan(plan, force)) {
    output_.remove_earlier_run();  // first, so that its study.json never stands beside another plan
    write_plan(plan);
  }
}

std::string StudyFolder::in_folder(std::string_view name) const {
  return (fs::path(path()) / name).string();
}

std::string StudyFolder::run_folder(std::size_t point, std::uint64_t seed) const {
  return in_folder(fmt::format("runs/point-{}/seed-{}", point + 1, seed));
}

/// Whether the folder has this plan; throws for another plan unless `force` is set.
bool StudyFolder::has_plan(const Json& plan, bool force) const {
  const Json old = read_json(in_folder(kPlanName));
  if (!old.is_object()) return false;
  for (const auto& [name, value] : plan.items()) {
    const Json before = old.contains(name) ? old[name] : Json();
    if (written(before) == written(value)) continue;
    if (force) return false;
    throw UsageError(fmt::format(
        "folder '{}' holds another study: {}; choose another with --out, or go on with this study "
        "there with --force (runs that both have are kept)",
        path(), difference_text(name, before, value)));
  }
  return true;
}

void StudyFolder::write_plan(const Json& plan) const {
  const std::string temporary = in_folder(std::string(kPlanName) + ".part");
  FileWriter file(temporary);
  file.write(plan.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  file.finish();
  const std::string final_path = in_folder(kPlanName);
  if (std::rename(temporary.c_str(), final_path.c_str()) != 0) refuse_to_write(final_path);
}

void wait_for_release(const std::string& run_folder) {
  const int folder = open(run_folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  for (int i = 0; i < kLockTries && flock(folder, LOCK_EX | LOCK_NB) != 0; ++i) {
    if (errno != EWOULDBLOCK) break;
    usleep(kLockPeriodUs);
  }
  close(folder);
}

}  // namespace orrery::study
