// SPDX-License-Identifier: Apache-2.0
#include "cli/replay_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <string_view>

#include "core/modules.h"
#include "orrery/error.h"
#include "orrery/input_file.h"
#include "output/output_folder.h"
#include "output/report.h"
#include "page/json_place.h"

namespace orrery::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kFlag = "--again";
/// The options that say what a run writes and shows.
constexpr std::array<std::string_view, 19> kOutput{"--out",
                                                   "--force",
                                                   "--quiet",
                                                   "--json",
                                                   "--verbose",
                                                   "--live",
                                                   "--trace",
                                                   "--trace-lps",
                                                   "--trace-from",
                                                   "--trace-to",
                                                   "--trace-size",
                                                   "--snapshot-every",
                                                   "--snapshot-at",
                                                   "--snapshot-wall",
                                                   "--snapshot-share",
                                                   "--snapshots",
                                                   "--snapshot-check",
                                                   "--end-after-snapshot",
                                                   "--write-partition"};
/// The options that would make the repetition another run.
constexpr std::array<std::string_view, 4> kIdentity{"--set", "--config", "--seed", "--until"};

template <class Names>
bool has(const Names& names, std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

/// An option with its value, or a word that belongs to none.
struct Piece {
  std::string option;
  std::vector<std::string> words;
};

std::vector<Piece> pieces_of(const OptionTable& run, const std::vector<std::string>& words) {
  std::vector<Piece> pieces;
  for (std::size_t i = 0; i < words.size(); ++i) {
    Piece piece{"", {words[i]}};
    if (words[i].starts_with("--")) {
      piece.option = words[i].substr(0, words[i].find('='));
      const bool takes_next =
          run.takes_value(piece.option) && piece.option.size() == words[i].size();
      if (takes_next && i + 1 < words.size()) piece.words.push_back(words[++i]);
    }
    pieces.push_back(std::move(piece));
  }
  return pieces;
}

/// Digests by path.
std::map<std::string, std::string> digests(const Json& report) {
  std::map<std::string, std::string> found;
  for (const Json& one : report.at("inputs"))
    found[one.at("path").get<std::string>()] = one.at("xxh3_128").get<std::string>();
  return found;
}

/// The value of --again; empty: there is none, or the parser refuses the words.
std::string report_in(const OptionTable& run, const std::vector<std::string>& words) {
  std::string report;
  for (const Piece& piece : pieces_of(run, words)) {
    if (piece.option != kFlag) continue;
    if (!report.empty()) return "";
    const std::string& word = piece.words.back();
    if (word != kFlag) report = piece.words.size() == 2 ? word : word.substr(word.find('=') + 1);
  }
  return report;
}

std::string existing_report(const std::string& path) {
  std::error_code none;
  return std::filesystem::is_directory(path, none)
             ? (std::filesystem::path(path) / kReportName).string()
             : path;
}

}  // namespace

void ReplayCheck::declare(OptionTable& options) {
  options.value("--again", unused_, "FILE",
                "Repeat the run of this report.json, or of the folder with it, and compare");
}

bool ReplayCheck::ignores(const std::string& flag) const {
  return is_on() && has(kOutput, flag);
}

void ReplayCheck::read_report(const std::string& path) {
  path_ = existing_report(path);
  report_ = Json::parse(read_input_file(path_, "report"), nullptr, false);
  try {
    const int schema = report_schema(report_);
    if (schema == 0) refuse("it is no report of a run");
    if (schema < kOldestReportSchema || schema > kReportSchema)
      refuse("it is of another version of Orrery");
    const auto command = report_.at("command").get<std::vector<std::string>>();
    if (command.empty()) refuse("no command has made it");
    if (command.front() != "run")
      refuse(
          fmt::format("'orrery {}' has made it, which went on from a snapshot; repeat the run "
                      "that took that",
                      command.front()));
    digests(report_);
    report_.at("run").at("fingerprint").get<std::string>();
    report_.at("complete").get<bool>();
  } catch (const nlohmann::json::exception&) {
    refuse("it is no report of a run");
  }
}

void ReplayCheck::refuse(const std::string& why) const {
  throw UsageError(fmt::format("cannot repeat '{}': {}", path_, why));
}

std::vector<std::string> ReplayCheck::replaced(const OptionTable& options,
                                               std::vector<std::string> given) {
  const std::string path = report_in(options, given);
  if (path.empty()) return given;
  read_report(path);
  std::vector<std::string> replaced, words, anew;
  for (const Piece& piece : pieces_of(options, given)) {
    if (piece.option == kFlag) continue;
    if (piece.option.empty() || has(kIdentity, piece.option))
      refuse(fmt::format("'{}' would make it another run; without {} it is one",
                         fmt::join(piece.words, " "), kFlag));
    replaced.push_back(piece.option);
    anew.insert(anew.end(), piece.words.begin(), piece.words.end());
  }
  const auto command = report_["command"].get<std::vector<std::string>>();
  for (const Piece& piece : pieces_of(options, {command.begin() + 1, command.end()})) {
    if (ignores(piece.option) || has(replaced, piece.option)) continue;
    words.insert(words.end(), piece.words.begin(), piece.words.end());
  }
  words.insert(words.end(), anew.begin(), anew.end());
  return words;
}

/// The source revision of the build that made the report.
std::string ReplayCheck::revision_text() const {
  const std::string revision = page::text_at(report_, {"orrery", "revision"});
  return revision.empty() ? "" : fmt::format("; its source was revision {}", revision);
}

void ReplayCheck::model_chosen(RunState& run) {
  if (!is_on()) return;
  const std::string& model_path = run.chosen.path;
  if (const std::string then = page::text_at(report_, {"orrery", "build"});
      then != build_of_program())
    refuse(fmt::format("it was made by another build of orrery ({}, this is {}){}", then,
                       build_of_program(), revision_text()));
  if (model_path.empty()) return;
  if (const std::string then = page::text_at(report_, {"model", "build"});
      then != build_of_model(model_path))
    refuse(fmt::format("'{}' was another build then ({}, this is {})", model_path, then,
                       build_of_model(model_path)));
}

void ReplayCheck::model_prepared(RunState& run) {
  if (!is_on()) return;
  std::map<std::string, std::string> then = digests(report_);
  std::vector<std::string> changes;
  for (const InputFile& one : run.record.inputs) {
    const auto found = then.find(one.path);
    if (found == then.end()) {
      changes.push_back(fmt::format("input file '{}' was not read then", one.path));
      continue;
    }
    if (found->second != one.digest)
      changes.push_back(fmt::format("input file '{}' has changed since", one.path));
    then.erase(found);
  }
  for (const auto& [path, digest] : then)
    changes.push_back(fmt::format("input file '{}' was read then, and is not now", path));
  if (!changes.empty()) refuse(fmt::format("{}", fmt::join(changes, "; ")));
}

void ReplayCheck::end(RunState& run) {
  if (!is_on()) return;
  if (!run.record.complete() || !report_["complete"].get<bool>())
    return run.add_note(fmt::format(
        "not compared with '{}', since one of the two did not reach its horizon", path_));
  const std::string then = report_["run"]["fingerprint"];
  const std::string now = fmt::format("{:016x}", run.record.result.fingerprint);
  if (now == then) return run.add_note(fmt::format("the same as '{}'", path_));
  run.mismatch = fmt::format(
      "the fingerprints differ ({}, in '{}' {}): the model depends on something that is neither "
      "its LPs' state nor its input files",
      now, path_, then);
}

}  // namespace orrery::cli
