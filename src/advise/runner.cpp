// SPDX-License-Identifier: Apache-2.0
#include "advise/runner.h"

#include <fmt/format.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "output/output_folder.h"

namespace orrery::advise {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kLookMilliseconds = 20;
constexpr double kGraceSeconds = 20;  // between SIGINT and SIGKILL
constexpr int kExitSignal = 128;

nlohmann::ordered_json report_in(const std::string& folder) {
  std::ifstream file(std::filesystem::path(folder) / kReportName);
  nlohmann::ordered_json report = nlohmann::ordered_json::parse(file, nullptr, false);
  return report.is_object() ? report : nlohmann::ordered_json();
}

}  // namespace

RunOutcome Runner::run(std::vector<std::string> words, const std::string& folder,
                       double limit_seconds) {
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  words.insert(words.end(), {"--out", folder, "--force", "--quiet"});
  children_.start(runs_++, words);
  bool is_over = false;
  const study::Ended ended = wait(limit_seconds, is_over);
  RunOutcome outcome{ended.code, ended.sentence, report_in(folder)};
  if (is_over && ended.code == kExitSignal + SIGINT) outcome.code = 0;
  if (outcome.code == kExitSignal + SIGKILL && is_over)
    outcome.sentence =
        fmt::format("it did not end within {:.0f} s of being asked to", kGraceSeconds);
  return outcome;
}

study::Ended Runner::wait(double limit_seconds, bool& is_over) {
  const auto begin = Clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  bool is_killed = false;
  for (;;) {
    if (auto ended = children_.wait(kLookMilliseconds)) return *ended;
    if (const int number = children_.take_signal(); number != 0) {
      signal_ = number;
      children_.signal_all(SIGINT);
    }
    if (!is_over && seconds() > limit_seconds) {
      is_over = true;
      children_.signal_all(SIGINT);
    }
    if (!is_killed && is_over && seconds() > limit_seconds + kGraceSeconds) {
      is_killed = true;
      children_.signal_all(SIGKILL);
    }
  }
}

}  // namespace orrery::advise
