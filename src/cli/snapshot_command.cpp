// SPDX-License-Identifier: Apache-2.0
//
// orrery snapshot info DIR and verify DIR: list the snapshots of a run and check them for damage.
// Neither needs the model or the build that made the snapshots.
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/standard_output.h"
#include "orrery/error.h"
#include "output/number_text.h"
#include "output/row_log.h"
#include "output/terminal.h"
#include "output/text_table.h"
#include "snapshot/folder.h"

namespace orrery::cli {
namespace {

using Align = TextTable::Align;

/// One snapshot: its manifest, or an error.
struct Finding {
  unsigned number;
  std::optional<snapshot::Manifest> manifest = {};
  std::uint64_t bytes = 0;  ///< of the contents of all ranks
  std::string damage = {};
};

struct Dropped final : RowWriter {
  void write(const Row&) override {}
};

std::vector<Finding> find(const snapshot::Folder& folder, bool verify) {
  std::vector<Finding> findings;
  for (const unsigned number : folder.numbers()) {
    Finding finding{.number = number};
    try {
      finding.manifest = folder.read_manifest(number);
      for (const snapshot::Manifest& part : folder.read_parts(*finding.manifest)) {
        finding.bytes += part.contents_bytes();
        if (verify) const snapshot::Contents whole(folder, part);
      }
      if (verify) {
        Dropped nowhere;
        if (finding.manifest->rows_bytes > 0)
          RowLog::replay(folder.rows(), finding.manifest->rows_bytes, nowhere);
      }
    } catch (const UsageError& error) {
      finding.damage = error.what();
    }
    findings.push_back(std::move(finding));
  }
  return findings;
}

std::string model_of(const snapshot::Manifest& m) {
  std::string text = m.model_path.empty() ? m.model : m.model_path;
  for (const auto& [name, value] : m.parameters) text += " " + name + "=" + value;
  for (const auto& [name, value] : m.changes) text += ", then " + name + "=" + value;
  return text;
}

std::string table_of(const std::vector<Finding>& findings) {
  TextTable table({{"snapshot"},
                   {"time"},
                   {"committed", Align::right},
                   {"pending", Align::right},
                   {"size", Align::right},
                   {"made"}});
  for (const Finding& one : findings) {
    if (!one.manifest) continue;
    const snapshot::Manifest& m = *one.manifest;
    table.add({std::to_string(one.number), m.time(), grouped(m.committed), grouped(m.pending),
               bytes_text(one.bytes), m.created});
  }
  return table.text(Terminal::of(STDOUT_FILENO));
}

nlohmann::json json_of(const Finding& one) {
  if (!one.manifest) return {{"number", one.number}, {"damage", one.damage}};
  nlohmann::json json = nlohmann::json::parse(one.manifest->to_json());
  json["contents"].erase("sums");
  if (!one.damage.empty()) json["damage"] = one.damage;
  return json;
}

void show(const std::vector<Finding>& findings) {
  for (auto one = findings.rbegin(); one != findings.rend(); ++one) {
    if (!one->manifest) continue;
    const snapshot::Manifest& m = *one->manifest;
    print_out("{}, {} LPs, seed {}\n\n", model_of(m), grouped(m.lps), m.seed);
    break;
  }
  print_out("{}", table_of(findings));
  for (const Finding& one : findings) {
    if (!one.manifest) continue;
    for (const snapshot::Reference& reference : one.manifest->references)
      print_out(
          "\nsnapshot {}: {} words look like addresses in {}, which lies elsewhere in each process "
          "unless the system lets addresses be fixed\n",
          one.number, reference.words, reference.path);
  }
}

constexpr CommandText kSnapshotText = {
    .name = "snapshot",
    .summary = "Show a run's snapshots, or verify them",
    .operands = "info|verify DIR",
    .prose =
        R"('orrery run' takes snapshots if one of its options requests them ('orrery run --help snapshots').
'orrery resume' and 'orrery fork' begin with a snapshot.)",
    .examples = R"(orrery snapshot info results/day      the snapshots of a run
orrery snapshot verify results/day    exit code 2 if a snapshot is damaged)"};

class SnapshotCommand final : public Command {
 public:
  SnapshotCommand() : Command(kSnapshotText) {}

  void declare(OptionTable& options) override {
    options.operands("WORDS", words_, "'info' or 'verify', and the folder of a run");
    options.flag("--json", json_, "Print the snapshots as JSON");
  }

  int run(OptionTable&, const Invocation&) override {
    if (words_.size() != 2 || (words_[0] != "info" && words_[0] != "verify"))
      throw UsageError(
          "'orrery snapshot' needs 'info' or 'verify' and the folder of a run, as in 'orrery "
          "snapshot "
          "info results/day'");
    const snapshot::Folder folder(words_[1]);
    std::error_code unknown;
    if (!std::filesystem::is_directory(words_[1], unknown))
      throw UsageError(fmt::format("there is no folder '{}'", words_[1]));
    const std::vector<Finding> findings = find(folder, words_[0] == "verify");
    if (findings.empty()) throw UsageError(fmt::format("'{}' holds no snapshot", words_[1]));
    if (json_) {
      nlohmann::json json = nlohmann::json::array();
      for (const Finding& one : findings) json.push_back(json_of(one));
      print_out("{}\n", json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
    } else {
      show(findings);
    }
    flush_out();
    std::string damage;
    for (const Finding& one : findings)
      if (!one.damage.empty()) damage += (damage.empty() ? "" : "; ") + one.damage;
    if (!damage.empty()) throw UsageError(damage);
    if (words_[0] == "verify" && !json_) print_out("\nall of it is whole\n");
    return kExitOk;
  }

 private:
  std::vector<std::string> words_;
  bool json_ = false;
};

const CommandEntry kSnapshotEntry(6, make_command<SnapshotCommand>);

}  // namespace
}  // namespace orrery::cli
