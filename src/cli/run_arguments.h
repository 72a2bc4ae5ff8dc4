// SPDX-License-Identifier: Apache-2.0
//
// The options of `run` and `compare` as they were written, and what they mean. They are kept as
// text until the model is known, because some need it ("2h" in the model's ticks), and so that
// every refusal is a sentence of ours that says what is allowed.
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "orrery/model.h"
#include "run/engine.h"

namespace orrery::cli {

struct RunArguments {
  std::vector<std::string> words;  ///< MODEL, and name=value pairs that follow a --set
  std::string model;
  std::vector<std::string> sets;       ///< "name=value"
  std::vector<std::string> file_sets;  ///< those of the config file; `sets` win
  std::string engine, config, out;
  bool quiet = false, force = false, json = false, verbose = false;
  /// Of what is declared as an option of a run (run/option.h); empty: not given. A map, since the
  /// command line writes into its elements.
  std::map<const OptionBase*, std::string> texts;

  std::string text(const OptionBase& option) const {
    const auto found = texts.find(&option);
    return found == texts.end() ? "" : found->second;
  }
};

struct CompareArguments : RunArguments {
  std::string engines, repeats;
  std::string workers;  ///< a list
};

/// `model` may be an engine.
struct DescribeArguments : RunArguments {
  bool measure = false;

  /// An option that means something only where a model is run.
  std::string needing_a_run() const;
};

/// The command's own options and those that are declared, for `run`.
void add_run_options(CLI::App& command, RunArguments& arguments);
/// The same for `compare`, where engines and numbers of workers are lists.
void add_compare_options(CLI::App& command, CompareArguments& arguments);
/// For `describe`: those that every engine honours.
void add_describe_options(CLI::App& command, DescribeArguments& arguments);

/// Sorts words into model and sets and reads the config file: call once after parsing. What the
/// command line gives wins over the file.
void complete_arguments(CLI::App& command, RunArguments& arguments);

/// A model with its parameters set, not yet prepared.
struct ChosenModel {
  std::unique_ptr<Model> model;
  std::string name, path;
};
ChosenModel choose_model(const RunArguments& arguments);

/// The engine that --engine names: by default timewarp where it is linked in.
const EngineInfo& choose_engine(const RunArguments& arguments);

/// `defaults` with the options that are given. Throws UsageError for what no engine takes, so a
/// slip is refused on every engine.
RunOptions read_options(const RunArguments& arguments, const Model& model,
                        RunOptions defaults = {});

/// "name=value" of file and command line; what the command line sets is not taken from the file.
std::vector<std::string> effective_sets(const RunArguments& arguments);

}  // namespace orrery::cli
